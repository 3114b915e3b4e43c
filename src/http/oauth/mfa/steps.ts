import type { FastifyReply, FastifyRequest } from 'fastify';
import { DomainError, nullIf } from '../../../domain/errors.js';
import type { Logins } from '../../../domain/logins/logins.js';
import { type OpenSignIn, provedIn } from '../../../domain/logins/pending-sign-ins.js';
import type { SecondFactor } from '../../../domain/mfa/challenges.js';
import type { Enrolled } from '../../../domain/mfa/enrollments.js';
import type { NewFactor } from '../../../domain/mfa/factors.js';
import type { TrustedBrowser } from '../../../domain/mfa/trusted-devices.js';
import type { Provider } from '../../../domain/oidc/provider.js';
import {
  onlyOnce,
  type Parameters,
  type ReadParameters,
  readParameters,
} from '../../../domain/oidc/requests/parameters.js';
import { assertOwnOrigin } from '../../browsers/origin.js';
import { redirect } from '../../pages/redirect.js';
import { wantsJson } from '../../pages/wants-json.js';
import { continueSignedIn } from '../continue-signed-in.js';
import { type HostedLogin, unlessGone } from '../hosted-login.js';
import type { Visit } from '../visit.js';
import { isTicked } from '../webauthn-json.js';
import { createCodesBrowser } from './codes-browser.js';
import { createExpiredPage } from './expired-page.js';

/** A sign-in that waits for its second factor, or for an enrollment, with what the request sent. */
export interface Step {
  visit: Visit;
  pending: OpenSignIn;
  token: string;
  form: Parameters;
  read: ReadParameters;
}

type Ending = Pick<Step, 'visit' | 'read'>;

/** The name of the field that carries the token of each purpose. */
const tokenFields = { challenge: 'challenge_token', enrollment: 'enrollment_token' } as const;

export interface MfaStepsDeps {
  provider: Provider;
  logins: Pick<Logins, 'mfaChallenges' | 'pendingSignIns' | 'repeatedEnrollments' | 'sealedCodes'>;
  hosted: HostedLogin;
}

/** Whether an answer or a code is refused because the sign-in cannot continue. */
export const isOver = (error: unknown): boolean =>
  error instanceof DomainError && error.code === 'mfa.challenge_invalid';

/** How each request between the two factors begins and ends. */
export function createMfaSteps({ provider, logins, hosted }: MfaStepsDeps) {
  const { baseUrl, now, sessions } = provider;
  const { mfaChallenges, pendingSignIns, repeatedEnrollments, sealedCodes } = logins;
  const expired = createExpiredPage(provider);
  const codesBrowser = createCodesBrowser(provider);

  /** Finds a pending sign-in. One that strengthens an existing session needs the browser to still have it. */
  async function find(request: FastifyRequest, token: string): Promise<OpenSignIn | null> {
    const pending = await pendingSignIns.find(token, 'hosted');
    if (pending?.method !== 'session') return pending;
    const session = await sessions.find(hosted.cookies.browser.read(request), pending.environmentId, null);
    return session?.identityId === pending.identityId ? pending : null;
  }

  /** Returns the request of a completed sign-in, and how its browser continues from it. */
  async function completed(request: FastifyRequest, token: string) {
    const done = await pendingSignIns.findOver(token, 'hosted');
    if (!done) return null;
    const { parameters, authenticatedAt: since } = done;
    const continued = await continueSignedIn(provider, hosted.cookies.browser, request, { ...done, since });
    return { parameters, continued };
  }

  /**
   * Answers a form whose sign-in is over. If the form was sent twice, it continues with the session of the first one,
   * if the browser has it; a script gets the usual refusal.
   */
  async function over(request: FastifyRequest, reply: FastifyReply, { read, token }: Pick<Step, 'read' | 'token'>) {
    const done = wantsJson(request) ? null : await completed(request, token);
    if (done?.continued) return redirect(request, reply, '/oauth/authorize', done.continued);
    return done ? expired(request, reply, read, 'sign_in_over') : expired(request, reply, read);
  }

  /** Redirects to the page that shows recovery codes once, in this browser only. */
  function toCodes({ visit, token }: Step, codes: string[]): FastifyReply {
    const { request, reply } = visit;
    const page = { codes, enrollmentToken: token };
    const codes_token = sealedCodes.seal(page, codesBrowser.mark(request, reply));
    // After the sign-in is over, the page knows its looks and its reader's language only from these parameters.
    const { client_id = null, ui_locales = null } = visit.authorizeRequest.parameters;
    return redirect(request, reply, '/oauth/mfa-enroll-codes', { codes_token, client_id, ui_locales });
  }

  /** Continues a complete sign-in, or says that it has expired: the password has changed, or the person is deleted. */
  const orExpired = ({ visit: { request, reply }, read }: Ending, goesOn: Promise<FastifyReply>) =>
    unlessGone(goesOn, () => expired(request, reply, read));

  return {
    expired,
    completed,
    over,
    find,
    orExpired,

    /**
     * Finds the sign-in that a form of ours continues. Null if the token is unknown, expired or complete: then the
     * request was answered, with a way to begin again or to continue.
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
      const pending = await find(request, token);
      if (pending?.purpose !== purpose) {
        await over(request, reply, { read, token });
        return null;
      }
      return { visit: await hosted.resume(request, reply, pending, read), pending, token, form, read };
    },

    /**
     * Checks an answer to the challenge and continues, once: to the client, or to enrolling a factor that suffices.
     * @throws DomainError mfa.code_invalid, mfa.challenge_locked
     */
    async answer(step: Step, proof: SecondFactor): Promise<FastifyReply> {
      const { visit, pending } = step;
      const { request, reply } = visit;
      const answered = await mfaChallenges
        .answer(pending, proof, browserToTrust(hosted, visit))
        .catch(nullIf('mfa.challenge_invalid'));
      if (!answered) return over(request, reply, step);
      const { proved, trusted } = answered;
      if (trusted) hosted.cookies.device.set(reply, trusted.device, trusted.expiresAt, now());
      return orExpired(step, hosted.proved(visit, { ...provedIn(pending), ...proved }, { hasProvedFactor: true }));
    },

    /** Continues after an enrollment: to the page of new recovery codes, or to the client. */
    async enrolled(step: Step, { recoveryCodes }: Enrolled): Promise<FastifyReply> {
      return recoveryCodes === null ? this.finish(step) : toCodes(step, recoveryCodes);
    },

    /** Marks the browser, so that it is recognized when it sends the form of an enrollment, and again. */
    markBrowser: ({ request, reply }: Visit) => void codesBrowser.mark(request, reply),

    /** Returns the recovery codes that come with a factor: the same ones if its form is sent twice. */
    codesFor(step: Step, factor: Pick<NewFactor, 'id'>): string[] | undefined {
      const secrets = codesBrowser.secretsOf(step.visit.request, step.token);
      return secrets ? repeatedEnrollments.codesOf(secrets, factor) : undefined;
    },

    /** Answers a refused enrollment form: like the first time if it was sent twice, or as for an ended sign-in. */
    async overtaken(
      step: Step,
      factor: Pick<NewFactor, 'id'> | null,
      { isRunning = false } = {},
    ): Promise<FastifyReply> {
      const { visit, pending } = step;
      const secrets = codesBrowser.secretsOf(visit.request, step.token);
      const isAsked = factor !== null && secrets !== null && !wantsJson(visit.request);
      const again = isAsked
        ? await repeatedEnrollments.find(pending, pending.identityId, factor, secrets, { isRunning })
        : null;
      return again?.codes ? toCodes(step, again.codes) : over(visit.request, visit.reply, step);
    },

    /** Completes a sign-in in which a factor was enrolled, once. */
    async finish(step: Pick<Step, 'visit' | 'token' | 'read'>): Promise<FastifyReply> {
      const { visit, token } = step;
      const { request, reply } = visit;
      const pending = await pendingSignIns.find(token, 'hosted');
      const isOver = !pending || pending.secondFactorAt === null || !(await pendingSignIns.complete(pending.id));
      if (isOver) return over(request, reply, step);
      return orExpired(step, hosted.proved(visit, provedIn(pending), { hasProvedFactor: true }));
    },
  };
}

function browserToTrust({ cookies }: HostedLogin, { request, client }: Visit): TrustedBrowser | null {
  const { mfaTrustedDeviceDays: days } = client.settings;
  if (days === 0 || !isTicked(request.body, 'remember_device')) return null;
  return { days, device: cookies.device.read(request), userAgent: request.headers['user-agent'] ?? null };
}

/** Drops booleans of a JSON body: parameters are strings, and flags are read separately. */
function withoutFlags(body: unknown): unknown {
  if (body === null || typeof body !== 'object' || Array.isArray(body)) return body;
  return Object.fromEntries(Object.entries(body).filter(([, value]) => typeof value !== 'boolean'));
}
