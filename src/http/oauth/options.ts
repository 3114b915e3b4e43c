import type { Logins } from '../../domain/logins/logins.js';
import type { Provider } from '../../domain/oidc/provider.js';
import type { Sso } from '../../domain/sso-sign-in/sso.js';
import type { Captcha } from '../../platform/captcha.js';
import type { RateLimits } from '../rate-limits.js';
import type { HostedLogin } from './hosted-login.js';
import type { SignInPage } from './sign-in-page.js';
import type { SsoWay } from './sso-way.js';

/** What the OAuth endpoints are given. */
export interface OAuthOptions {
  provider: Provider;
  logins: Logins;
  sso: Sso;
  captcha: Captcha;
  limits: Pick<RateLimits, 'general' | 'exact'>;
}

/** What the hosted pages are given on top. */
export interface HostedOptions extends OAuthOptions {
  hosted: HostedLogin;
  signInPage: SignInPage;
  ssoWay: SsoWay;
}
