import type { Logins } from '../../domain/logins/logins.js';
import type { Provider } from '../../domain/oidc/provider.js';
import type { Captcha } from '../../platform/captcha.js';
import type { RateLimits } from '../rate-limits.js';
import type { HostedLogin } from './hosted-login.js';
import type { SignInPage } from './sign-in-page.js';

/** What the OAuth endpoints are given. */
export interface OAuthOptions {
  provider: Provider;
  logins: Logins;
  captcha: Captcha;
  limits: Pick<RateLimits, 'general' | 'exact'>;
}

/** What the hosted pages are given on top. */
export interface HostedOptions extends OAuthOptions {
  hosted: HostedLogin;
  signInPage: SignInPage;
}
