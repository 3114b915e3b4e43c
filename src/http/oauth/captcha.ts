import type { FastifyRequest } from 'fastify';
import { DomainError } from '../../domain/errors.js';
import { createsIdentities } from '../../domain/logins/email-otp.js';
import type { Client } from '../../domain/oidc/clients/clients.js';
import type { Parameters } from '../../domain/oidc/requests/parameters.js';
import type { Captcha } from '../../platform/captcha.js';
import type { TextKey } from '../../platform/mail/texts.js';
import { wantsJson } from '../pages/wants-json.js';
import type { Visit } from './visit.js';

/** The field that Turnstile's widget adds to its form. */
export const captchaField = 'cf-turnstile-response';

/** Whether signing in takes a captcha. If a code may create the Identity, signing in is a sign-up, too. */
export const signInNeedsCaptcha = ({ settings }: Pick<Client, 'settings'>): boolean =>
  settings.loginRequireCaptcha || (createsIdentities(settings) && settings.selfSignupRequireCaptcha);

/**
 * Checks the captcha that was sent: null if nothing is wrong with it. An outage of its service refuses nobody: a page
 * asks for patience, and a script gets the usual error for an outage.
 * @throws DomainError service.unavailable
 */
export async function wrongWithCaptcha(
  captcha: Pick<Captcha, 'verify'>,
  request: FastifyRequest,
  form: Parameters,
): Promise<'captcha' | 'captcha_unavailable' | null> {
  const verdict = await captcha.verify(form.get(captchaField) ?? '', request.ip);
  if (verdict === 'passed') return null;
  if (verdict === 'refused') return 'captcha';
  if (wantsJson(request)) throw new DomainError('service.unavailable', { retryAfter: 5 });
  return 'captcha_unavailable';
}

/** Checks the captcha of a sign-in, if the Environment requires one: the text of what is wrong, or null. */
export async function captchaErrorOf(
  captcha: Pick<Captcha, 'verify'>,
  { request, client }: Pick<Visit, 'request' | 'client'>,
  form: Parameters,
): Promise<TextKey | null> {
  const wrong = signInNeedsCaptcha(client) ? await wrongWithCaptcha(captcha, request, form) : null;
  return wrong && `sign_in.error.${wrong}`;
}
