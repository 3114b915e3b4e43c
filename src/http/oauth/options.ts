import type { Logins } from '../../domain/logins/logins.js';
import type { Provider } from '../../domain/oidc/provider.js';
import type { Sso } from '../../domain/sso-sign-in/sso.js';
import type { Captcha } from '../../platform/captcha.js';
import type { RateLimits } from '../surfaces/rate-limits.js';
import type { HostedLogin } from './hosted-login.js';
import type { SignInPage } from './sign-in-page.js';
import type { SsoRedirect } from './sso-redirect.js';

/** The dependencies of the OAuth endpoints. */
export interface OAuthOptions {
  provider: Provider;
  logins: Logins;
  sso: Sso;
  captcha: Captcha;
  limits: Pick<RateLimits, 'general' | 'exact'>;
}

/** The dependencies of the hosted pages. */
export interface HostedOptions extends OAuthOptions {
  hosted: HostedLogin;
  signInPage: SignInPage;
  ssoRedirect: SsoRedirect;
}
