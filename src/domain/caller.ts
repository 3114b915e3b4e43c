import type { Capability } from './capabilities/administrator-roles.js';
import type { RoleInAccount } from './capabilities/reach.js';

/** The caller of a request, whose credential was checked against the database. */
export type Caller = AdminCaller | ApiKeyCaller | IdentityCaller;

export interface AdminCaller {
  type: 'platform_admin';
  userId: string;
  sessionId: string;
  /** What the roles allow at the place that the request's path names. */
  capabilities: readonly Capability[];
  roles: readonly RoleInAccount[];
}
export interface ApiKeyCaller {
  type: 'api_key';
  apiKeyId: string;
  name: string;
  accessMode: 'full' | 'scoped';
  scopes: readonly string[];
}
export interface IdentityCaller {
  type: 'identity';
  identityId: string;
  sessionId: string;
  /** The time of the sign-in that its token belongs to. */
  authenticatedAt: Date;
}

export const actorOf = (caller: Caller) => ({
  type: caller.type,
  label: caller.type === 'api_key' ? caller.name : null,
  id:
    caller.type === 'platform_admin' ? caller.userId : caller.type === 'api_key' ? caller.apiKeyId : caller.identityId,
});
