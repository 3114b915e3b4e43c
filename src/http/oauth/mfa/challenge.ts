import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { type FactorKind, factorKinds } from '../../../../entities/environment-settings.js';
import { DomainError } from '../../../domain/errors.js';
import type { SecondFactor } from '../../../domain/mfa/challenges.js';
import { looksLikeRecoveryCode } from '../../../domain/mfa/codes/recovery-code-form.js';
import type { Parameters } from '../../../domain/oidc/requests/parameters.js';
import type { TextKey } from '../../../platform/mail/texts.js';
import type { HostedOptions } from '../options.js';
import { throttled } from '../throttles.js';
import { sendChallenge } from './challenge-page.js';
import { createMfaSteps } from './steps.js';

/** Verifies a code of an authenticator app or a recovery code; without either, shows the page for the chosen factor. */
export const mfaChallenge: FastifyPluginAsyncTypebox<HostedOptions> = async (app, options) => {
  const { logins, limits } = options;
  const steps = createMfaSteps(options);

  app.post('/oauth/mfa-challenge', throttled(limits, 'POST /oauth/mfa-challenge'), async (request, reply) => {
    const step = await steps.open(request, reply, 'challenge', ['code', 'recovery_code', 'factor', 'choice']);
    if (!step) return reply;
    const { visit, pending, token, form } = step;
    // A button of the form with the code field: then the typed text is not an answer.
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

/** Reads the proof. In either field, sixteen letters are a recovery code; in `code`, anything else is an app's code. */
function proofIn(form: Parameters): (SecondFactor & { kind: 'totp' | 'recovery_code' }) | null {
  const recoveryCode = form.get('recovery_code');
  if (recoveryCode !== undefined) return { kind: 'recovery_code', code: recoveryCode };
  const code = form.get('code');
  if (code === undefined) return null;
  return { kind: looksLikeRecoveryCode(code) ? 'recovery_code' : 'totp', code };
}
