import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logins } from '../../../domain/logins/logins.js';
import { type OpenSignIn, provedIn } from '../../../domain/logins/pending-sign-ins.js';
import type { Enrolled } from '../../../domain/mfa/enrollments.js';
import type { SecondFactorResult } from '../../../domain/mfa/second-factor.js';
import { onlyOnce, type Parameters, type ReadParameters, readParameters } from '../../../domain/oidc/parameters.js';
import type { Provider } from '../../../domain/oidc/provider.js';
import type { HostedLogin } from '../hosted-login.js';
import { assertOwnOrigin } from '../origin.js';
import { redirect } from '../pages.js';
import type { Visit } from '../visit.js';
import { createExpiredPage } from './expired-page.js';

/** A sign-in that waits for its second factor, or for one to be enrolled, and what was sent for it. */
export interface Step {
  visit: Visit;
  pending: OpenSignIn;
  token: string;
  form: Parameters;
  read: ReadParameters;
}

/** The name of the field that carries the token of each purpose. */
const tokenFields = { challenge: 'challenge_token', enrollment: 'enrollment_token' } as const;

export interface MfaStepsDeps {
  provider: Provider;
  logins: Pick<Logins, 'pendingSignIns' | 'sealedCodes' | 'trustedDevices'>;
  hosted: HostedLogin;
}

/** How each request between the two factors begins and ends. */
export function createMfaSteps({ provider, logins, hosted }: MfaStepsDeps) {
  const { baseUrl, now } = provider;
  const { pendingSignIns, sealedCodes, trustedDevices } = logins;
  const expired = createExpiredPage(provider);

  return {
    expired,

    /**
     * Finds the sign-in that a form of ours goes on with. Null when the token is unknown, expired or complete: then that was
     * answered, with a way to begin again.
     * @throws DomainError origin.foreign; OAuthError invalid_request for changed parameters
     */
    async open(
      request: FastifyRequest,
      reply: FastifyReply,
      purpose: OpenSignIn['purpose'],
      fields: readonly string[] = [],
    ): Promise<Step | null> {
      const read = readParameters(request.query, withoutFlags(request.body));
      const field = tokenFields[purpose];
      const form = onlyOnce(read, [field, ...fields]);
      assertOwnOrigin(request, baseUrl);
      const token = form.get(field) ?? '';
      const pending = await pendingSignIns.find(token, 'hosted');
      if (pending?.purpose !== purpose) {
        await expired(request, reply, read);
        return null;
      }
      return { visit: await hosted.resume(request, reply, pending, read), pending, token, form, read };
    },

    /** Goes on after an answer to the challenge, once: to the client, or to enrolling a factor that is enough. */
    async answered(step: Step, result: SecondFactorResult, { remember }: { remember: boolean }): Promise<FastifyReply> {
      const { visit, pending, read } = step;
      const { request, reply, client } = visit;
      if (!(await pendingSignIns.complete(pending.id))) return expired(request, reply, read);
      const { mfaTrustedDeviceDays: days } = client.settings;
      if (remember && days > 0 && result.secondFactorAt !== null) {
        const { identityId } = pending;
        const device = hosted.cookies.device.read(request);
        const userAgent = request.headers['user-agent'] ?? null;
        const trusted = await trustedDevices.trust(pending, { identityId, days, device, userAgent });
        hosted.cookies.device.set(reply, trusted.device, trusted.expiresAt, now());
      }
      return hosted.proved(visit, { ...provedIn(pending), ...result }, { hasProvedFactor: true });
    },

    /** Goes on after an enrollment: to the page of new recovery codes, or to the client. */
    async enrolled(step: Step, { recoveryCodes }: Enrolled): Promise<FastifyReply> {
      if (recoveryCodes === null) return this.finish(step);
      const { request, reply } = step.visit;
      const codes_token = sealedCodes.seal({ codes: recoveryCodes, enrollmentToken: step.token });
      // The page has nothing else to know its reader's language from, once the sign-in is over.
      const { ui_locales = null } = step.visit.asked.parameters;
      return redirect(request, reply, '/oauth/mfa-enroll-codes', { codes_token, ui_locales });
    },

    /** Ends a sign-in in which a factor was enrolled, once. */
    async finish({ visit, token, read }: Pick<Step, 'visit' | 'token' | 'read'>): Promise<FastifyReply> {
      const { request, reply } = visit;
      const pending = await pendingSignIns.find(token, 'hosted');
      const isOver = !pending || pending.secondFactorAt === null || !(await pendingSignIns.complete(pending.id));
      if (isOver) return expired(request, reply, read);
      return hosted.proved(visit, provedIn(pending), { hasProvedFactor: true });
    },
  };
}

export type MfaSteps = ReturnType<typeof createMfaSteps>;

/** Parameters are texts; a flag that JSON sends as such is read apart. */
function withoutFlags(body: unknown): unknown {
  if (body === null || typeof body !== 'object' || Array.isArray(body)) return body;
  return Object.fromEntries(Object.entries(body).filter(([, value]) => typeof value !== 'boolean'));
}
