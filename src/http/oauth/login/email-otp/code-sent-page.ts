import type { FastifyReply } from 'fastify';
import type { StartedEmailOtp } from '../../../../domain/logins/email-otp.js';
import type { Captcha } from '../../../../platform/captcha.js';
import type { TextKey } from '../../../../platform/mail/texts.js';
import { shownClient } from '../../../pages/page-client.js';
import { sendPage } from '../../../pages/send-page.js';
import { wantsJson } from '../../../pages/wants-json.js';
import { signInNeedsCaptcha } from '../../captcha.js';
import { pageOptions } from '../../page-options.js';
import { refusalInJson } from '../../refusal-in-json.js';
import { codeMethodOf, type Visit } from '../../visit.js';

export interface ShownCodeSent {
  token: string;
  /** The address to which the code was mailed, if anybody has it; empty if it can no longer be determined. */
  email: string;
  /** Whether it is not the first code: otherwise the button for another one would seem to do nothing. */
  isAgain?: boolean;
}

/** Says that a code is on its way, whether or not anybody has the address, and asks for it. */
export function sendCodeSent(
  visit: Visit,
  { expiresAt, ...shown }: ShownCodeSent & Pick<StartedEmailOtp, 'expiresAt'>,
  captcha: Captcha,
): FastifyReply {
  if (!wantsJson(visit.request)) return sendCodeEntry(visit, shown, null, captcha);
  return visit.reply.send({ login_token: shown.token, expires_at: expiresAt.toISOString() });
}

/** Asks for the code again, or for another one if the code no longer works. */
export function sendCodeRefused(
  visit: Visit,
  { isVoid, ...shown }: ShownCodeSent & { isVoid: boolean },
  captcha: Captcha,
): FastifyReply {
  const error = isVoid ? 'email_code.error.void' : 'email_code.error.code';
  if (!wantsJson(visit.request)) return sendCodeEntry(visit, shown, error, captcha);
  return visit.reply.code(401).send({ error: 'access_denied', ...refusalInJson(error), login_token: shown.token });
}

/** Asks for a code; also if another one could not be sent, since the previous one still works. */
export function sendCodeEntry(
  visit: Visit,
  { token, email, isAgain = false }: ShownCodeSent,
  error: TextKey | null,
  captcha: Captcha,
) {
  const { request, reply, client, authorizeRequest } = visit;
  const siteKey = signInNeedsCaptcha(client) ? captcha.siteKey : null;
  const params = { ...authorizeRequest.parameters, method: codeMethodOf(visit) };
  return sendPage(
    request,
    reply,
    'code-sent',
    {
      action: '/oauth/login/email-otp/verify',
      resendAction: '/oauth/login/email-otp/start',
      otherUrl: `/oauth/authorize?${new URLSearchParams(params)}`,
      params,
      token,
      email,
      isAgain,
      error,
      captcha: siteKey,
      client: shownClient(client),
    },
    { ...pageOptions(visit), captcha: siteKey !== null },
  );
}
