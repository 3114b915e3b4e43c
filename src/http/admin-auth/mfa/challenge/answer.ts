import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { AdminSecondFactor } from '../../../../domain/admin-mfa/challenges.js';
import type { EventAction } from '../../../../domain/events/catalogue.js';
import { browserOf } from '../../../browsers/browser-of.js';
import { browserLocaleOf } from '../../../pages/locale.js';
import { errors } from '../../../surfaces/operation.js';
import { single } from '../../../surfaces/schemas.js';
import { createAdminCookies } from '../../cookies.js';
import type { AdminAuthOptions } from '../../options.js';
import { ChallengeOutcome, presentEntered, presentSsoRequired } from '../../outcomes.js';

export const ChallengeFields = {
  challenge_token: Type.String({ maxLength: 200, description: 'From the outcome `mfa_required`.' }),
};

const challengeErrors = errors(
  'validation.failed',
  'mfa.challenge_invalid',
  'mfa.code_invalid',
  'auth.invalid_credentials',
  'origin.foreign',
  'mfa.challenge_locked',
  'rate_limit.exceeded',
  'service.unavailable',
);
export const challengeAnswers = { 200: single(ChallengeOutcome), ...challengeErrors };

/** The events that an answer to a challenge may record. */
export const challengeEvents = [
  'auth.admin_mfa_challenge_passed',
  'auth.admin_mfa_challenge_failed',
  'auth.admin_signed_in',
  'auth.admin_sign_in_failed',
] as const satisfies readonly EventAction[];

/** Continues with a second factor, and sets the cookies of the session that it starts. */
export function answerWith({ users, baseUrl }: Pick<AdminAuthOptions, 'users' | 'baseUrl'>) {
  const cookies = createAdminCookies(baseUrl);
  return async (request: FastifyRequest, reply: FastifyReply, proof: AdminSecondFactor) => {
    const { challenge_token: challengeToken } = request.body as { challenge_token: string };
    const entered = await users.signIn.answerChallenge({
      challengeToken,
      proof,
      locale: browserLocaleOf(request),
      ...browserOf(request),
    });
    if (entered.outcome === 'sso_required') return reply.send({ data: presentSsoRequired(baseUrl, entered) });
    if ('refreshToken' in entered) cookies.set(reply, entered);
    return reply.send({ data: presentEntered(entered) });
  };
}
