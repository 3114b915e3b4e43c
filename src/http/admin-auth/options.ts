import type { IdempotentRequests } from '../../domain/idempotency.js';
import type { Sso } from '../../domain/sso-sign-in/sso.js';
import type { Users } from '../../domain/users/users.js';
import type { Clock } from '../../platform/clock.js';
import type { AdminPrincipals } from '../principals/admin.js';
import type { RateLimits } from '../surfaces/rate-limits.js';

/** The dependencies of the routes of admin authentication; each route names those that it uses. */
export interface AdminAuthOptions {
  users: Users;
  sso: Pick<Sso, 'administrators' | 'leaving' | 'signIn'>;
  admins: AdminPrincipals;
  limits: RateLimits;
  idempotentRequests: IdempotentRequests;
  baseUrl: string;
  /** Where administrators sign in. */
  adminAppUrl?: string;
  now: Clock;
}
