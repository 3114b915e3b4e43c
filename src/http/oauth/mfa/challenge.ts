import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { type FactorKind, factorKinds } from '../../../../entities/environment-settings.js';
import { DomainError } from '../../../domain/errors.js';
import type { SecondFactor } from '../../../domain/mfa/challenges.js';
import { looksLikeRecoveryCode } from '../../../domain/mfa/recovery-code-form.js';
import type { Parameters } from '../../../domain/oidc/parameters.js';
import type { TextKey } from '../../../platform/mail/texts.js';
import type { HostedOptions } from '../options.js';
import { throttled } from '../throttles.js';
import { sendChallenge } from './challenge-page.js';
import { createMfaSteps } from './steps.js';

/** Takes the code of an authenticator app or a recovery code; without either it shows the page, by the factor that was chosen. */
export const mfaChallenge: FastifyPluginAsyncTypebox<HostedOptions> = async (app, options) => {
  const { logins, limits } = options;
  const steps = createMfaSteps(options);

  app.post('/oauth/mfa-challenge', throttled(limits, 'POST /oauth/mfa-challenge'), async (request, reply) => {
    const step = await steps.open(request, reply, 'challenge', ['code', 'recovery_code', 'factor', 'choice']);
    if (!step) return reply;
    const { visit, pending, token, form } = step;
    // A button of the form that has the field: what was typed there is no answer then.
    const choice = form.get('choice');
    const chosen = factorKinds.find((kind) => kind === (choice ?? form.get('factor')));
    const show = async (more: { factor?: FactorKind; error?: TextKey | null }) => {
      const factors = await logins.mfaChallenges.factorsOf(pending);
      const { expiresAt, email } = pending;
      return sendChallenge(visit, { token, expiresAt, email, factors, ...more });
    };
    const proof = choice === undefined ? proofIn(form) : null;
    if (!proof) {
      const isChoice = choice !== undefined || form.has('factor');
      return show({ factor: chosen, error: isChoice ? null : 'mfa_challenge.error.missing' });
    }
    try {
      return await steps.answer(step, proof);
    } catch (error) {
      if (!(error instanceof DomainError) || error.code !== 'mfa.code_invalid') throw error;
      return show({ factor: proof.kind, error: `mfa_challenge.error.${proof.kind}` });
    }
  });
};

/** Whatever field it is typed into, sixteen letters are a recovery code and digits are an app's. */
function proofIn(form: Parameters): (SecondFactor & { kind: 'totp' | 'recovery_code' }) | null {
  const recoveryCode = form.get('recovery_code');
  if (recoveryCode !== undefined) return { kind: 'recovery_code', code: recoveryCode };
  const code = form.get('code');
  if (code === undefined) return null;
  return { kind: looksLikeRecoveryCode(code) ? 'recovery_code' : 'totp', code };
}
