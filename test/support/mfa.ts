import type { LightMyRequestResponse } from 'fastify';
import { generateSync } from 'otplib';
import type { Identity } from '../../entities/identity.js';
import {
  authorizeUrl,
  type Browser,
  locationOf,
  newPkce,
  password,
  type TestClient,
  type TestEnvironment,
  type TestProvider,
} from './oauth.js';

/** The code that an authenticator app shows at a moment. */
export const totpCode = (secret: string, at: Date): string =>
  generateSync({ secret, epoch: Math.floor(at.getTime() / 1000) });

export interface TestTotp {
  secret: string;
  /** Those that came with a first factor. */
  recoveryCodes: string[] | null;
  /** The code of this moment, by the provider's clock; the next one works when half a minute has gone by. */
  code(): string;
}

type Deps = Pick<TestProvider, 'logins' | 'now' | 'wait'>;
type Scope = Pick<TestEnvironment, 'accountId' | 'applicationId' | 'environmentId'>;
type Person = Pick<Identity, 'id' | 'email'>;

/** Enrolls an authenticator app as the pages do, and lets half a minute go by, so that the next code can be used at once. */
export async function enrollTotp({ logins, now, wait }: Deps, scope: Scope, { id, email }: Person): Promise<TestTotp> {
  const { accountId, applicationId, environmentId } = scope;
  const place = { accountId, applicationId, environmentId };
  const { secret, sealed } = await logins.totp.beginEnrollment(place, { identityId: id, email });
  const factor = logins.totp.confirmEnrollment(id, { sealed, code: totpCode(secret, now()), drift: 1 });
  const { recoveryCodes } = await logins.factors.enroll(place, id, factor);
  wait(30_000);
  return { secret, recoveryCodes, code: () => totpCode(secret, now()) };
}

/** Signs in with the password and answers the page that follows, with the verifier for the code at the end. */
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

/** The value of a hidden field of a page. */
export const hidden = (page: LightMyRequestResponse, name: string): string =>
  new RegExp(`<input type="hidden" name="${name}" value="([^"]*)">`).exec(page.body)?.[1] ?? '';

/** What the page says is wrong. */
export const alertOf = (page: LightMyRequestResponse): string | null =>
  /role="alert">([^<]*)</.exec(page.body)?.[1] ?? null;

/** The authorization code that an answer redirects with. @throws Error that shows the page instead */
export function codeIn(response: LightMyRequestResponse): string {
  const code = response.headers.location && locationOf(response).searchParams.get('code');
  if (!code) throw new Error(`no code: ${response.statusCode} ${response.headers.location ?? response.body}`);
  return code;
}
