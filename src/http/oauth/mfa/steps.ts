import type { FastifyReply, FastifyRequest } from 'fastify';
import { DomainError } from '../../../domain/errors.js';
import type { Logins } from '../../../domain/logins/logins.js';
import { type OpenSignIn, provedIn } from '../../../domain/logins/pending-sign-ins.js';
import type { SecondFactor } from '../../../domain/mfa/challenges.js';
import type { Enrolled } from '../../../domain/mfa/enrollments.js';
import type { NewFactor } from '../../../domain/mfa/factors.js';
import type { TrustedBrowser } from '../../../domain/mfa/trusted-devices.js';
import { onlyOnce, type Parameters, type ReadParameters, readParameters } from '../../../domain/oidc/parameters.js';
import type { Provider } from '../../../domain/oidc/provider.js';
import { assertOwnOrigin } from '../../origin.js';
import { redirect } from '../../pages/redirect.js';
import { wantsJson } from '../../pages/wants-json.js';
import { wayOnSignedIn } from '../already-signed-in.js';
import { type HostedLogin, unlessGone } from '../hosted-login.js';
import type { Visit } from '../visit.js';
import { isTicked } from '../webauthn-json.js';
import { createCodesBrowser } from './codes-browser.js';
import { createExpiredPage } from './expired-page.js';

/** A sign-in that waits for its second factor, or for one to be enrolled, and what was sent for it. */
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

/** Whether an answer or a code is refused because the sign-in goes on no more. */
export const isOver = (error: unknown): boolean =>
  error instanceof DomainError && error.code === 'mfa.challenge_invalid';

/** How each request between the two factors begins and ends. */
export function createMfaSteps({ provider, logins, hosted }: MfaStepsDeps) {
  const { baseUrl, now, sessions } = provider;
  const { mfaChallenges, pendingSignIns, repeatedEnrollments, sealedCodes } = logins;
  const expired = createExpiredPage(provider);
  const codesBrowser = createCodesBrowser(provider);

  /** One that is to make a session of before stronger goes on as long as its browser has that. */
  async function find(request: FastifyRequest, token: string): Promise<OpenSignIn | null> {
    const pending = await pendingSignIns.find(token, 'hosted');
    if (pending?.method !== 'session') return pending;
    const session = await sessions.find(hosted.cookies.browser.read(request), pending.environmentId, null);
    return session?.identityId === pending.identityId ? pending : null;
  }

  /** A sign-in that is complete: its request, and how its browser goes on from it. */
  async function completed(request: FastifyRequest, token: string) {
    const done = await pendingSignIns.findOver(token, 'hosted');
    if (!done) return null;
    const { parameters, authenticatedAt: since } = done;
    const wayOn = await wayOnSignedIn(provider, hosted.cookies.browser, request, { ...done, since });
    return { parameters, wayOn };
  }

  /**
   * Answers a form whose sign-in goes on no more. One that has come twice goes on by the session of the first, where the browser
   * has it; a script is told what it ever was.
   */
  async function over(request: FastifyRequest, reply: FastifyReply, { read, token }: Pick<Step, 'read' | 'token'>) {
    const done = wantsJson(request) ? null : await completed(request, token);
    if (done?.wayOn) return redirect(request, reply, '/oauth/authorize', done.wayOn);
    return done ? expired(request, reply, read, 'sign_in_over') : expired(request, reply, read);
  }

  /** To the page that shows recovery codes once, in this browser alone. */
  function toCodes({ visit, token }: Step, codes: string[]): FastifyReply {
    const { request, reply } = visit;
    const page = { codes, enrollmentToken: token };
    const codes_token = sealedCodes.seal(page, codesBrowser.mark(request, reply));
    // The page has nothing else to know its looks and its reader's language from, once the sign-in is over.
    const { client_id = null, ui_locales = null } = visit.asked.parameters;
    return redirect(request, reply, '/oauth/mfa-enroll-codes', { codes_token, client_id, ui_locales });
  }

  /** What a sign-in that is complete goes on to; the password can be another one since, or the person gone. */
  const orExpired = ({ visit: { request, reply }, read }: Ending, goesOn: Promise<FastifyReply>) =>
    unlessGone(goesOn, () => expired(request, reply, read));

  return {
    expired,
    completed,
    over,
    find,
    orExpired,

    /**
     * Finds the sign-in that a form of ours goes on with. Null when the token is unknown, expired or complete: then that was
     * answered, with a way to begin again or on.
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
     * Takes an answer to the challenge and goes on, once: to the client, or to enrolling a factor that is enough.
     * @throws DomainError mfa.code_invalid, mfa.challenge_locked
     */
    async answer(step: Step, proof: SecondFactor): Promise<FastifyReply> {
      const { visit, pending } = step;
      const { request, reply } = visit;
      const answered = await mfaChallenges
        .answer(pending, proof, browserToTrust(hosted, visit))
        .catch((error: unknown) => {
          if (isOver(error)) return null;
          throw error;
        });
      if (!answered) return over(request, reply, step);
      const { proved, trusted } = answered;
      if (trusted) hosted.cookies.device.set(reply, trusted.device, trusted.expiresAt, now());
      return orExpired(step, hosted.proved(visit, { ...provedIn(pending), ...proved }, { hasProvedFactor: true }));
    },

    /** Goes on after an enrollment: to the page of new recovery codes, or to the client. */
    async enrolled(step: Step, { recoveryCodes }: Enrolled): Promise<FastifyReply> {
      return recoveryCodes === null ? this.finish(step) : toCodes(step, recoveryCodes);
    },

    /** Has the browser be known again when it sends the form of an enrollment, and once more. */
    holdBrowser: ({ request, reply }: Visit) => void codesBrowser.mark(request, reply),

    /** The recovery codes that come with a factor: the same ones when its form is sent twice. */
    codesFor(step: Step, factor: Pick<NewFactor, 'id'>): string[] | undefined {
      const secrets = codesBrowser.secretsOf(step.visit.request, step.token);
      return secrets ? repeatedEnrollments.codesOf(secrets, factor) : undefined;
    },

    /** Answers the form of an enrollment that was refused: as the first time where it has come twice, else as one that is over. */
    async overtaken(
      step: Step,
      factor: Pick<NewFactor, 'id'> | null,
      { isUnderWay = false } = {},
    ): Promise<FastifyReply> {
      const { visit, pending } = step;
      const secrets = codesBrowser.secretsOf(visit.request, step.token);
      const isAsked = factor !== null && secrets !== null && !wantsJson(visit.request);
      const again = isAsked
        ? await repeatedEnrollments.find(pending, pending.identityId, factor, secrets, { isUnderWay })
        : null;
      return again?.codes ? toCodes(step, again.codes) : over(visit.request, visit.reply, step);
    },

    /** Ends a sign-in in which a factor was enrolled, once. */
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

/** Parameters are texts; a flag that JSON sends as such is read apart. */
function withoutFlags(body: unknown): unknown {
  if (body === null || typeof body !== 'object' || Array.isArray(body)) return body;
  return Object.fromEntries(Object.entries(body).filter(([, value]) => typeof value !== 'boolean'));
}
