import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { DomainError, type ErrorCode } from '../../../../domain/errors.js';
import { OAuthError } from '../../../../domain/oidc/oauth-error.js';
import type { TextKey } from '../../../../platform/mail/texts.js';
import { readerLocaleOf } from '../../../pages/send-page.js';
import { wantsJson } from '../../../pages/wants-json.js';
import type { HostedOptions } from '../../options.js';
import { pageOptions } from '../../page-options.js';
import { throttled } from '../../throttles.js';
import { sendChallenge } from '../challenge-page.js';
import { createMfaSteps, isOver, type Step } from '../steps.js';

/** Parameters that the specification has the form replay, as far as the original request had them. */
const replayed = [
  'client_id',
  'redirect_uri',
  'response_type',
  'scope',
  'code_challenge',
  'code_challenge_method',
] as const;

/** The texts for why no code was mailed. */
const failures: Partial<Record<ErrorCode, TextKey>> = {
  'mfa.email_unavailable': 'mfa_challenge.error.send_unavailable',
  'rate_limit.exceeded': 'mfa_challenge.error.send_too_often',
};

/** Mails a code for the second factor to the person's address. */
export const mfaEmailOtpSend: FastifyPluginAsyncTypebox<HostedOptions> = async (app, options) => {
  const { logins, limits } = options;
  const steps = createMfaSteps(options);

  app.post('/oauth/mfa/email-otp/send', throttled(limits, 'POST /oauth/mfa/email-otp/send'), async (request, reply) => {
    const step = await steps.open(request, reply, 'challenge', ['again']);
    if (!step) return reply;
    assertReplayed(step);
    const { visit, pending, token, form } = step;
    const mailed = await logins.mfaChallenges.sendEmailCode(pending, readerLocaleOf(request, pageOptions(visit))).then(
      (until) => ({ expiresAt: until, error: null }),
      (refusal) => {
        if (isOver(refusal)) return null;
        const text = refusal instanceof DomainError ? failures[refusal.code] : undefined;
        if (!text) throw refusal;
        return { expiresAt: pending.expiresAt, error: text };
      },
    );
    if (!mailed) return steps.over(request, reply, step);
    const { expiresAt, error } = mailed;
    const factors = await logins.mfaChallenges.factorsOf(pending);
    const { email } = pending;
    const isAgain = form.has('again');
    // The earlier code still works: a page without its field would leave it useless.
    const isEarlier = isAgain && error === 'mfa_challenge.error.send_too_often' && !wantsJson(request);
    const shown = { isSent: error === null || isEarlier, isAgain: isAgain && error === null, error };
    return sendChallenge(visit, { token, expiresAt, email, factors, factor: 'email_otp', ...shown });
  });
};

function assertReplayed({ pending, read }: Step) {
  const missing = replayed.find((name) => pending.parameters[name] !== undefined && !read.values.has(name));
  if (missing !== undefined) throw new OAuthError('invalid_request', `${missing} is missing`);
}
