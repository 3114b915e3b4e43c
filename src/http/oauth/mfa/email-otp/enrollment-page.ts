import type { FastifyReply } from 'fastify';
import type { TextKey } from '../../../../platform/mail/texts.js';
import { shownClient } from '../../../pages/page-client.js';
import { sendPage } from '../../../pages/send-page.js';
import { wantsJson } from '../../../pages/wants-json.js';
import { pageOptions } from '../../page-options.js';
import { refusalInJson } from '../../refusal-in-json.js';
import type { Step } from '../steps.js';

interface State {
  /** Whether a code is on its way. */
  isSent: boolean;
  /** Whether a code was sent before. */
  isAgain?: boolean;
  error?: TextKey | null;
}

/** Offers to mail a first code, and asks for it. A script gets the same in JSON. */
export function sendEmailEnrollment({ visit, pending, token }: Step, state: State): FastifyReply {
  const { isSent, isAgain = false, error = null } = state;
  const { request, reply, client, authorizeRequest } = visit;
  if (wantsJson(request)) {
    return reply.code(error === null ? 200 : 401).send({
      ...(error !== null && { error: 'access_denied', ...refusalInJson(error) }),
      enrollment_token: token,
      code_sent: isSent,
    });
  }
  return sendPage(
    request,
    reply,
    'mfa-enroll-email',
    {
      sendAction: '/oauth/mfa/email-otp/enroll/send',
      verifyAction: '/oauth/mfa/email-otp/enroll/verify',
      otherAction: '/oauth/mfa/enroll',
      params: authorizeRequest.parameters,
      token,
      email: pending.email,
      isSent,
      isAgain,
      error,
      client: shownClient(client),
    },
    pageOptions(visit),
  );
}
