import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { SecondFactor } from '../../../../domain/mfa/challenges.js';
import { browserOf } from '../../../browsers/browser-of.js';
import { allowOrigins } from '../../../browsers/cors.js';
import { secretCookie } from '../../../browsers/secret-cookie.js';
import { errors } from '../../../surfaces/operation.js';
import { single } from '../../../surfaces/schemas.js';
import { LoginResult, presentLogin } from '../../answers.js';
import type { IdentityAuthOptions } from '../../options.js';

/** The fields of every answer to a challenge. */
export const ChallengeFields = {
  challenge_token: Type.String({ maxLength: 200, description: 'From the result of `login`.' }),
};
export const AnswerFields = {
  ...ChallengeFields,
  remember_device: Type.Boolean({
    default: false,
    description: 'Sets the `trusted_device` cookie, if the environment allows trusted devices.',
  }),
};

/**
 * The errors after a second factor; `mfa.challenge_locked` and `rate_limit.exceeded` say when to try again. If the
 * person was deactivated meanwhile, or the time is over that an organization allows, the credentials are not valid.
 */
const challengeErrors = errors(
  'validation.failed',
  'mfa.challenge_invalid',
  'auth.multiple_credentials',
  'auth.invalid_credentials',
  'mfa.code_invalid',
  'login.consent_required',
  'login.method_not_allowed',
  'mfa.enrollment_required',
  'sso_required',
  'mfa.challenge_locked',
  'rate_limit.exceeded',
  'service.unavailable',
);
export const challengeAnswers = { 200: single(LoginResult), ...challengeErrors };

/** Lets the scripts of a challenge's client read the answers of a plugin's routes. */
export const allowChallenger = (app: FastifyInstance, { api }: Pick<IdentityAuthOptions, 'api'>) =>
  allowOrigins(app, 'preValidation', async ({ body }) => {
    const token = (body as { challenge_token?: unknown } | null | undefined)?.challenge_token;
    return typeof token === 'string' ? api.challenges.clientOf(token) : null;
  });

/** Continues with a second factor, and sets the cookie of a device that is trusted from then on. */
export function answerWith({ provider, api }: Pick<IdentityAuthOptions, 'provider' | 'api'>) {
  const cookie = secretCookie(provider.baseUrl, 'trusted_device');
  return async (request: FastifyRequest, reply: FastifyReply, proof: SecondFactor) => {
    const body = request.body as { challenge_token: string; remember_device?: boolean };
    const { trusted, goOn } = await api.challenges.answer({
      token: body.challenge_token,
      proof,
      remember: body.remember_device ?? false,
      device: cookie.read(request),
      ...browserOf(request),
    });
    if (trusted) cookie.set(reply, trusted.device, trusted.expiresAt, provider.now());
    return reply.send({ data: presentLogin(await goOn(), provider.now) });
  };
}
