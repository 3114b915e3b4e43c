import { createsIdentities } from '../../domain/logins/email-otp.js';
import type { Client } from '../../domain/oidc/clients.js';
import type { Parameters } from '../../domain/oidc/parameters.js';
import type { Captcha } from '../../platform/captcha.js';
import type { Visit } from './visit.js';

/** What Turnstile's widget adds to the form that it stands in. */
export const captchaField = 'cf-turnstile-response';

/** Whether signing in takes a captcha; where a code may create the Identity, it is a sign-up too. */
export const signInNeedsCaptcha = ({ settings }: Pick<Client, 'settings'>): boolean =>
  settings.loginRequireCaptcha || (createsIdentities(settings) && settings.selfSignupRequireCaptcha);

/** Whether what was sent may go on, as far as the Environment demands a captcha of who signs in. */
export async function passesCaptcha(
  captcha: Pick<Captcha, 'verify'>,
  { request, client }: Pick<Visit, 'request' | 'client'>,
  form: Parameters,
): Promise<boolean> {
  return !signInNeedsCaptcha(client) || captcha.verify(form.get(captchaField) ?? '', request.ip);
}
