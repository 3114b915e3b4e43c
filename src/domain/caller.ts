import type { Permission } from './access/permissions.js';
import type { Capability } from './accounts/administrator-roles.js';

/** Who calls, after the credential was proved alive from the database. */
export type Caller = AdminCaller | ApiKeyCaller | IdentityCaller;

export interface AdminCaller {
  type: 'platform_admin';
  userId: string;
  sessionId: string;
  capabilities: readonly Capability[];
  roles: readonly { id: string; name: string }[];
}
export interface ApiKeyCaller {
  type: 'api_key';
  apiKeyId: string;
  accessMode: 'full' | 'scoped';
  scopes: readonly string[];
}
export interface IdentityCaller {
  type: 'identity';
  identityId: string;
  sessionId: string;
}

/** Whether the caller holds a system permission at the Environment's root. */
export function holds(caller: Caller, permission: Permission): boolean {
  // An identity holds what its roles give it. There are no roles yet, so it holds nothing.
  return caller.type === 'api_key' && (caller.accessMode === 'full' || caller.scopes.includes(permission));
}

export const actorOf = (caller: Caller) => ({
  type: caller.type,
  id:
    caller.type === 'platform_admin' ? caller.userId : caller.type === 'api_key' ? caller.apiKeyId : caller.identityId,
});
