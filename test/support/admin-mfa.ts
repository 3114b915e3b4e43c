import { randomUUID } from 'node:crypto';
import type { PublicKeyCredentialRequestOptionsJSON } from '@simplewebauthn/server';
import type { LightMyRequestResponse } from 'fastify';
import { decodeJwt } from 'jose';
import { SsoConnection } from '../../entities/sso-connection.js';
import { type AdminAuth, bearer } from './admin-auth.js';
import { type Authenticator, createAuthenticator, type Flaws } from './authenticator.js';
import { totpCode } from './mfa.js';

export interface PasskeyRequest {
  passkey_token: string;
  options: PublicKeyCredentialRequestOptionsJSON;
}
interface PasskeyMore {
  flaws?: Flaws;
  headers?: Record<string, string>;
  application_id?: string;
}
type Added = Awaited<ReturnType<AdminAuth['addUser']>>;
type Person = Pick<Added, 'email' | 'password'>;

/** Returns what a person with second factors does in their browser. */
export function withFactors(auth: AdminAuth) {
  const login = async (person: Person, more: object = {}) =>
    auth.post('/login', { email: person.email, password: person.password, ...more });

  /** Signs in a person who has no factor yet. */
  async function session(person: Person): Promise<string> {
    return ok(await login(person)).access_token;
  }

  /** Enrolls an authenticator app in a session, and moves the clock half a minute so the next code works at once. */
  async function enrollTotp(token: string) {
    const begun = ok(await auth.post('/mfa/totp/enroll', undefined, bearer(token)));
    const code = () => totpCode(begun.secret, auth.now());
    const confirmation = { enrollment_token: begun.enrollment_token, code: code() };
    const added = ok(await auth.post('/mfa/totp/confirm', confirmation, bearer(token)), 201);
    auth.pass(30_000);
    return { ...added, secret: begun.secret as string, code } as {
      factor: { id: string; type: string; label: string };
      recovery_codes: string[] | null;
      secret: string;
      code(): string;
    };
  }

  async function enrollKey(token: string, authenticator = newKey(), label?: string) {
    const begun = ok(await auth.post('/mfa/webauthn/enroll/options', undefined, bearer(token)));
    const answer = { enrollment_token: begun.enrollment_token, response: authenticator.create(begun.options) };
    const added = ok(
      await auth.post('/mfa/webauthn/enroll/verify', { ...answer, ...(label && { label }) }, bearer(token)),
      201,
    );
    return { ...added, authenticator } as {
      factor: { id: string; type: string; label: string; signs_in: boolean };
      recovery_codes: string[] | null;
      authenticator: Authenticator;
    };
  }

  /** Signs in with the password, up to the request for the second factor. */
  async function challenge(person: Person, more: object = {}): Promise<string> {
    const data = ok(await login(person, more));
    expect(data.outcome).toBe('mfa_required');
    return data.challenge_token;
  }

  return {
    login,
    session,
    enrollTotp,
    enrollKey,
    challenge,
    newKey,
    answer: (kind: 'totp' | 'recovery-code', challengeToken: string, code: string, headers = {}) =>
      auth.post(`/mfa/challenge/${kind}`, { challenge_token: challengeToken, code }, headers),
    /** Asks for a challenge as a sign-in page does, which has no name of anybody yet. */
    beginPasskey: async () => ok(await auth.post('/passkey/options')) as PasskeyRequest,
    async signInByPasskey(authenticator: Authenticator, { flaws = {}, headers = {}, ...more }: PasskeyMore = {}) {
      const { passkey_token, options } = ok(await auth.post('/passkey/options', undefined, headers)) as PasskeyRequest;
      return auth.post('/passkey', { passkey_token, response: authenticator.get(options, flaws), ...more }, headers);
    },
    async answerKey(challengeToken: string, authenticator: Authenticator) {
      const options = ok(await auth.post('/mfa/challenge/webauthn/options', { challenge_token: challengeToken }));
      const response = authenticator.get(options);
      return auth.post('/mfa/challenge/webauthn', { challenge_token: challengeToken, response });
    },
  };

  function newKey(options: Partial<Parameters<typeof createAuthenticator>[0]> = {}) {
    return createAuthenticator({ origin: auth.baseUrl, ...options });
  }
}

/** Gives the first Account of a person an identity provider, by which the person signs in. */
export async function providerOf(auth: AdminAuth, { id: userId, accounts: [first] }: Pick<Added, 'id' | 'accounts'>) {
  const accountId = first!.account.id;
  const connectionId = randomUUID();
  const at = auth.now();
  await auth.db.transaction('system', (tx) =>
    tx.insert(SsoConnection, {
      ...{ id: connectionId, accountId, scope: 'admin', type: 'saml', name: 'Acme', status: 'active' },
      ...{ ownedByOrganization: false, oidcScopes: [], createdAt: at, updatedAt: at },
    }),
  );
  const browser = { ipAddress: null, userAgent: null };
  return {
    connectionId,
    by: (amr: string[]) =>
      auth.users.signIn.signInByProvider({
        ...{ userId, accountId, connectionId, ssoSessionId: null, amr, applicationId: null },
        ...{ emailChangedAt: null, authTime: auth.now(), ...browser },
      }),
  };
}

/** Returns the data of an answer. @throws Error if the answer has another status */
export function ok(answer: LightMyRequestResponse, status = 200) {
  if (answer.statusCode !== status) throw new Error(`${answer.statusCode} instead of ${status}: ${answer.body}`);
  return answer.json().data;
}

/** Returns how the user of an access token was authenticated: its `amr` and `acr`. */
export function provedIn(token: string) {
  const { amr, acr } = decodeJwt(token);
  return { amr, acr };
}

export const refusalOf = (answer: LightMyRequestResponse) => [answer.statusCode, answer.json().error.code];
