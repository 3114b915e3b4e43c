import type { FastifyReply } from 'fastify';
import type { TotpEnrollment } from '../../../../domain/mfa/codes/totp.js';
import type { TextKey } from '../../../../platform/mail/texts.js';
import { shownClient } from '../../../pages/page-client.js';
import { sendPage } from '../../../pages/send-page.js';
import { wantsJson } from '../../../pages/wants-json.js';
import { pageOptions } from '../../page-options.js';
import { refusalInJson } from '../../refusal-in-json.js';
import type { Step } from '../steps.js';

/** Shows a secret as a QR code and as a key to type, and asks for the first code. A script gets the same in JSON. */
export function sendTotpEnrollment(
  { visit, token }: Pick<Step, 'visit' | 'token'>,
  { secret, uri, qrSvg, sealed }: TotpEnrollment,
  error: TextKey | null = null,
): FastifyReply {
  const { request, reply, client, authorizeRequest } = visit;
  if (wantsJson(request)) {
    return reply.code(error === null ? 200 : 401).send({
      ...(error !== null && { error: 'access_denied', ...refusalInJson(error) }),
      enrollment_token: token,
      totp_token: sealed,
      secret,
      otpauth_uri: uri,
    });
  }
  return sendPage(
    request,
    reply,
    'mfa-enroll-totp',
    {
      action: '/oauth/mfa/totp/enroll',
      otherAction: '/oauth/mfa/enroll',
      params: authorizeRequest.parameters,
      token,
      sealed,
      qrSvg,
      uri,
      key: (secret.match(/.{1,4}/g) ?? []).join(' '),
      error,
      client: shownClient(client),
    },
    pageOptions(visit),
  );
}
