import type { LightMyRequestResponse } from 'fastify';
import { generateSync } from 'otplib';
import type { Identity } from '../../entities/identity.js';
import type { Enrollment, NewFactor } from '../../src/domain/mfa/factors.js';
import { aal2 } from '../../src/domain/sessions/first-factor.js';
import type { OwnProofOf } from '../../src/domain/sessions/own-proof.js';
import { createSessions } from '../../src/domain/sessions/sessions.js';
import { type Browser, locationOf } from './oauth/browser.js';
import { password, type TestClient, type TestEnvironment } from './oauth/environment.js';
import type { TestProvider } from './oauth/provider.js';
import { authorizeUrl, newPkce } from './oauth/sign-in.js';

/** Returns the code that an authenticator app shows at a moment. */
export const totpCode = (secret: string, at: Date): string =>
  generateSync({ secret, epoch: Math.floor(at.getTime() / 1000) });

export interface TestTotp {
  secret: string;
  /** The codes that came with a first factor; null with a further one. */
  recoveryCodes: string[] | null;
  /** Returns the code of this moment by the provider's clock; the next one works half a minute later. */
  code(): string;
}

type Deps = Pick<TestProvider, 'db' | 'logins' | 'now' | 'wait'>;
type Scope = Pick<TestEnvironment, 'accountId' | 'applicationId' | 'environmentId'>;
type Person = Pick<Identity, 'id' | 'email'>;

/** Gives an Identity a factor as enrolling it during a sign-in does, in any session or none. */
export const giveFactor = (
  { db, logins }: Pick<Deps, 'db' | 'logins'>,
  { accountId, applicationId, environmentId }: Scope,
  identityId: string,
  factor: NewFactor,
): Promise<Enrollment> =>
  logins.recoveryCodes.withSet(true, (take) =>
    db.transaction({ accountId }, (tx) =>
      logins.factors.enrollIn(tx, { accountId, applicationId, environmentId }, identityId, { factor, amr: [], take }),
    ),
  );

/** Starts a session in which a person has shown an authenticator app, for changes to their own account. */
export async function strongSession(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  { accountId, applicationId, environmentId }: Scope,
  identityId: string,
): Promise<OwnProofOf> {
  const scope = { accountId, applicationId, environmentId };
  const proof = { identityId, amr: ['pwd', 'otp', 'mfa'], acr: aal2, secondFactorAt: now(), lifeSeconds: 3600 };
  const from = { browser: null, ipAddress: '127.0.0.1', userAgent: null };
  const { session } = await createSessions({ db, now }).signIn({ scope, ...proof, ...from });
  return { ...scope, identityId, sessionId: session.id, authenticatedAt: session.authenticatedAt };
}

/** Enrolls an authenticator app, and moves the clock half a minute so that the next code works at once. */
export async function enrollTotp(
  { db, logins, now, wait }: Deps,
  scope: Scope,
  { id, email }: Person,
): Promise<TestTotp> {
  const { accountId, applicationId, environmentId } = scope;
  const place = { accountId, applicationId, environmentId };
  const { secret, sealed } = await logins.totp.beginEnrollment(place, { identityId: id, email });
  const factor = logins.totp.confirmEnrollment(id, { sealed, code: totpCode(secret, now()), drift: 1 });
  const { recoveryCodes } = await giveFactor({ db, logins }, place, id, factor);
  wait(30_000);
  return { secret, recoveryCodes, code: () => totpCode(secret, now()) };
}

/** Signs in with the password; returns the page that follows, and the verifier for the code at the end. */
export async function passwordStep(
  browser: Browser,
  client: Pick<TestClient, 'clientId'>,
  { email }: Pick<Identity, 'email'>,
  more: Record<string, string | undefined> = {},
): Promise<{ page: LightMyRequestResponse; verifier: string }> {
  const { verifier, challenge } = newPkce();
  const start = await browser.get(authorizeUrl(client, { code_challenge: challenge, ...more }));
  return { page: await browser.submit(start, { email, password }), verifier };
}

/** Returns the value of a hidden field of a page. */
export const hidden = (page: LightMyRequestResponse, name: string): string =>
  new RegExp(`<input type="hidden" name="${name}" value="([^"]*)">`).exec(page.body)?.[1] ?? '';

/** Returns the error that the page shows. */
export const alertOf = (page: LightMyRequestResponse): string | null =>
  /role="alert">([^<]*)</.exec(page.body)?.[1] ?? null;

/** Returns the authorization code in a redirect. @throws Error that shows the page instead */
export function codeIn(response: LightMyRequestResponse): string {
  const code = response.headers.location && locationOf(response).searchParams.get('code');
  if (!code) throw new Error(`no code: ${response.statusCode} ${response.headers.location ?? response.body}`);
  return code;
}
