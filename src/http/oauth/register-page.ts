import type { FastifyReply } from 'fastify';
import type { Captcha } from '../../platform/captcha.js';
import type { TextKey } from '../../platform/mail/texts.js';
import { shownClient } from '../pages/page-client.js';
import { sendPage } from '../pages/send-page.js';
import { wantsJson } from '../pages/wants-json.js';
import { pageOptions } from './page-options.js';
import { refusalInJson } from './refusal-in-json.js';
import { flowOf, type Visit } from './visit.js';

export interface ShownSignUp {
  email: string;
  firstName?: string;
  lastName?: string;
  /** What was wrong (`sign_up.error.…`). */
  error?: TextKey | null;
}

/** Errors that different input cannot fix. */
const refusals: TextKey[] = ['sign_up.error.closed', 'sign_up.error.cap', 'sign_up.error.captcha'];

/** Asks for what signing up takes, at first or again. A script gets the same in JSON. */
export function sendSignUp(
  visit: Visit,
  { email, firstName = '', lastName = '', error = null }: ShownSignUp,
  { siteKey }: Pick<Captcha, 'siteKey'>,
): FastifyReply {
  const { request, reply, client } = visit;
  const { passwordMinLength: minLength, selfSignupRequireCaptcha } = client.settings;
  const captcha = selfSignupRequireCaptcha ? siteKey : null;
  if (wantsJson(request)) {
    if (error === null) {
      return reply.send({
        fields: ['email', 'password', 'first_name', 'last_name'],
        password_min_length: minLength,
        captcha,
      });
    }
    const isRefusal = refusals.includes(error);
    return reply
      .code(isRefusal ? 403 : 400)
      .send({ error: isRefusal ? 'access_denied' : 'invalid_request', ...refusalInJson(error, { length: minLength }) });
  }
  const params = flowOf(visit);
  return sendPage(
    request,
    reply,
    'sign-up',
    {
      action: '/oauth/register',
      params,
      email,
      firstName,
      lastName,
      minLength,
      error,
      captcha,
      signInUrl: `/oauth/authorize?${new URLSearchParams(params)}`,
      client: shownClient(client),
    },
    { ...pageOptions(visit), captcha: captcha !== null },
  );
}
