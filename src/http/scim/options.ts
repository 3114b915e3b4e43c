import type { ScimAuthentication } from '../../domain/scim/authenticate.js';
import type { ScimDenials } from '../../domain/scim/denials.js';
import type { ScimGroups } from '../../domain/scim/groups.js';
import type { ScimUsers } from '../../domain/scim/users.js';
import type { RateLimits } from '../rate-limits.js';

export interface ScimOptions {
  authenticate: ScimAuthentication;
  denied: ScimDenials;
  users: ScimUsers;
  groups: ScimGroups;
  limits: Pick<RateLimits, 'general'>;
  /** Of the service, without `/scim/v2`. */
  baseUrl: string;
}
