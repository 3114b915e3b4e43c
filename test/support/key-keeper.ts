import type { AdminCaller } from '../../src/domain/caller.js';

/** An administrator who keeps the keys of the whole Account, for what makes one without a request. */
export function keyKeeper(userId: string): AdminCaller {
  const capabilities = ['env_api_keys.manage'] as const;
  return {
    type: 'platform_admin',
    userId,
    sessionId: '',
    capabilities,
    roles: [{ id: '', name: 'Keeps keys', capabilities, limits: null }],
  };
}
