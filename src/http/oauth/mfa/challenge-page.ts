import type { FastifyReply } from 'fastify';
import type { FactorKind } from '../../../../entities/environment-settings.js';
import type { Begun } from '../../../domain/logins/pending-sign-ins.js';
import type { TextKey } from '../../../platform/mail/texts.js';
import { shownClient } from '../../pages/page-client.js';
import { sendPage } from '../../pages/send-page.js';
import { wantsJson } from '../../pages/wants-json.js';
import { pageOptions } from '../page-options.js';
import { refusalInJson } from '../refusal-in-json.js';
import { anotherPersonUrl, type Visit } from '../visit.js';
import { isTicked } from '../webauthn-json.js';

export interface ShownChallenge extends Begun {
  factors: readonly FactorKind[];
  /** The factor that the person has chosen; by default the first one. */
  factor?: FactorKind;
  /** Whether a code is on its way to the person. */
  isSent?: boolean;
  /** Whether a code was sent before. */
  isAgain?: boolean;
  error?: TextKey | null;
}

/** Asks for the second factor, by one of the available ones. A script gets the same in JSON. */
export function sendChallenge(visit: Visit, challenge: ShownChallenge): FastifyReply {
  const { token, expiresAt, email, factors, isSent = false, isAgain = false, error = null } = challenge;
  const { request, reply, client, authorizeRequest } = visit;
  if (wantsJson(request)) {
    const isDone = isSent && error === null; // the request was for a code, which is on its way
    return reply.code(isDone ? 200 : 401).send({
      ...(!isDone && {
        error: error === null ? 'mfa_required' : 'access_denied',
        ...(error === null ? { error_description: 'a second factor is needed' } : refusalInJson(error)),
      }),
      challenge_token: token,
      available_factors: factors,
      code_sent: isSent,
      expires_at: expiresAt.toISOString(),
    });
  }
  const chosen = challenge.factor && factors.includes(challenge.factor) ? challenge.factor : factors[0];
  return sendPage(
    request,
    reply,
    'mfa-challenge',
    {
      params: authorizeRequest.parameters,
      token,
      email,
      otherUrl: anotherPersonUrl(visit),
      factor: chosen ?? 'totp',
      others: factors.filter((factor) => factor !== chosen),
      isSent,
      isAgain,
      rememberDays: client.settings.mfaTrustedDeviceDays,
      isRemembered: isTicked(request.body, 'remember_device'),
      error,
      client: shownClient(client),
    },
    { ...pageOptions(visit), scripts: chosen === 'webauthn' ? ['webauthn'] : [] },
  );
}
