import type { IdempotentRequests } from '../../domain/idempotency.js';
import type { ApiLogins } from '../../domain/logins/api-logins.js';
import type { Logins } from '../../domain/logins/logins.js';
import type { Provider } from '../../domain/oidc/provider.js';
import type { ProviderSignOut } from '../../domain/sso-sign-in/provider-sign-out.js';
import type { Captcha } from '../../platform/captcha.js';
import type { RateLimits } from '../surfaces/rate-limits.js';

/** The dependencies of the routes of end-user authentication; each route names those that it uses. */
export interface IdentityAuthOptions {
  provider: Provider;
  logins: Logins;
  api: ApiLogins;
  leaving: Pick<ProviderSignOut, 'begin'>;
  captcha: Pick<Captcha, 'verify'>;
  limits: RateLimits;
  idempotentRequests: IdempotentRequests;
}
