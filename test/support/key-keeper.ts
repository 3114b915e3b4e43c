import type { AdminCaller } from '../../src/domain/caller.js';

/** Returns an administrator who manages the API keys of the whole Account, to create one without a request. */
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
