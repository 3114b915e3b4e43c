import { DomainError } from '../../src/domain/errors.js';
import { type ApiVisit, createApiSignIn } from '../../src/domain/logins/api-sign-in.js';
import type { GateDecision } from '../../src/domain/logins/gate.js';
import { aal1, firstFactor } from '../../src/domain/sessions/first-factor.js';
import { answering } from '../support/answering.js';

/** How a sign-in of the API continues after the gate has decided; integration tests cover the ways to the gate. */
const now = new Date('2026-03-01T12:00:00Z');
const scope = { accountId: 'acc', applicationId: 'app', environmentId: 'env' };
const client = { ...scope, id: 'id', clientId: 'web', settings: { passwordLoginEnabled: true, sessionTtlSeconds: 60 } };
const visit = {
  client,
  scope: ['openid', 'email'],
  requiresAal2: true,
  device: 'device',
  ipAddress: '::1',
  userAgent: 'x',
};
const first = firstFactor('ana', 'password', ['pwd'], { now });
const ana = { id: 'ana', email: 'ana@example.com', firstName: 'Ana', lastName: null };

function after(decision: object, { rows = {}, issued = null as object | null } = {}) {
  const { db, events } = answering(rows);
  const did: unknown[][] = [];
  const does =
    (name: string, answer: unknown = undefined) =>
    async (...given: unknown[]) => {
      did.push([name, ...given]);
      return answer;
    };
  const signIn = createApiSignIn({
    db,
    passwords: { verify: does('verify', false) as never },
    logins: {
      passwordLogin: {} as never,
      gate: { decide: does('decide', decision as GateDecision) as never },
      pendingSignIns: { begin: does('begin', { token: 'token', expiresAt: now }) } as never,
    },
    sessions: { signIn: does('signIn', { session: { id: 'session' } }) } as never,
    tokens: { answerWithoutIdToken: does('answer', { access_token: 'at' }) } as never,
    grants: { issue: does('issue', issued) } as never,
    selections: {} as never,
    now: () => now,
  });
  const proved = (hasProvedFactor?: boolean) => signIn.proved(visit as unknown as ApiVisit, first, { hasProvedFactor });
  return { signIn, proved, did, events, named: (name: string) => did.filter(([what]) => what === name) };
}
const refusalOf = async (work: Promise<unknown>) =>
  work.then(
    () => null,
    (error: unknown) => {
      if (!(error instanceof DomainError)) throw error;
      return [error.code, error.options.details ?? null];
    },
  );

test('a complete sign-in gets a session as the gate says, which no cookie names, and tokens', async () => {
  const granted = { identityId: 'ana', email: ana.email, firstName: 'Ana', lastName: null };
  const { proved, did, events } = after({ step: 'done', amr: ['pwd', 'mfa'] }, { issued: { granted } });
  expect(await proved()).toEqual({
    outcome: 'signed_in',
    person: ana,
    tokens: { access_token: 'at' },
    graceExpiresAt: null,
  });
  expect(did).toEqual([
    ['decide', { client, first, device: 'device', requiresAal2: true, hasProvedFactor: false }],
    [
      'signIn',
      expect.objectContaining({
        scope,
        identityId: 'ana',
        amr: ['pwd', 'mfa'],
        acr: aal1,
        authenticatedAt: now,
        lifeSeconds: 60,
        browser: null,
        ipAddress: '::1',
        userAgent: 'x',
      }),
    ],
    ['issue', client, 'session', visit.scope, expect.objectContaining({ identityId: 'ana', amr: ['pwd', 'mfa'] })],
    ['answer', { client, scope: visit.scope, granted }],
  ]);
  expect(events).toEqual([]);
});

test('a running grace is shown; without one the sign-in is refused, and the log says for whom and why', async () => {
  const granted = { identityId: 'ana', email: ana.email };
  const { proved } = after({ step: 'enroll', until: now }, { issued: { granted } });
  expect(await proved()).toMatchObject({ outcome: 'signed_in', graceExpiresAt: now });
  const over = after({ step: 'enroll', until: null });
  expect(await refusalOf(over.proved())).toEqual(['mfa.enrollment_required', null]);
  expect(over.named('signIn')).toEqual([]);
  expect(over.events).toMatchObject([
    {
      action: 'auth.identity_sign_in_failed',
      environment_id: 'env',
      resource_id: 'ana',
      outcome: 'denied',
      metadata: { method: 'password', reason: 'mfa.enrollment_required' },
    },
  ]);
});

test('only the gate records its refusal', async () => {
  const refused = after({ step: 'refused' });
  expect(await refusalOf(refused.proved())).toEqual(['mfa.enrollment_required', null]);
  expect([refused.named('signIn'), refused.events]).toEqual([[], []]);
});

test('a required second factor waits with all data of the sign-in', async () => {
  const challenge = { step: 'challenge', factors: ['totp'] };
  const { proved, named } = after(challenge, { rows: { person_of_api_login: [ana] } });
  const waits = { outcome: 'challenge', person: ana, factors: ['totp'], token: 'token', expiresAt: now };
  for (const hasProvedFactor of [false, true]) expect(await proved(hasProvedFactor)).toEqual(waits);
  const parameters = { client_id: 'web', scope: 'openid email' };
  const begun = { client, channel: 'api', purpose: 'challenge', first, requiresAal2: true, parameters };
  expect(named('begin')).toEqual([
    ['begin', { ...begun, hasProvedFactor: false }],
    ['begin', { ...begun, hasProvedFactor: true }],
  ]);
  const deleted = after(challenge);
  expect(await refusalOf(deleted.proved())).toEqual(['auth.invalid_credentials', null]);
});

test('a person whom an organization bars is told the allowed methods', async () => {
  const barred = {
    step: 'barred',
    code: 'login.method_not_allowed',
    methods: ['email_otp', 'passkey'],
    connections: [],
  };
  const open = { field: 'method', message: 'is open, on the hosted pages' };
  expect(await refusalOf(after(barred).proved())).toEqual([
    'login.method_not_allowed',
    [
      { ...open, code: 'email_otp' },
      { ...open, code: 'passkey' },
    ],
  ]);
  const connections = [{ id: 'connection', name: 'Acme' }];
  const sso = after({ step: 'barred', code: 'sso_required', methods: [], connections });
  expect(await refusalOf(sso.proved())).toEqual([
    'sso_required',
    [{ field: 'connection_id', code: 'connection', message: 'is the identity provider of Acme, at /oauth/sso' }],
  ]);
});

test('a person who was deactivated during the sign-in gets no tokens', async () => {
  const { proved, named } = after({ step: 'done' });
  expect(await refusalOf(proved())).toEqual(['auth.invalid_credentials', null]);
  expect(named('answer')).toEqual([]);
});

test('a client that is refused waits for the password’s hashing, as every client does', async () => {
  const { signIn, did } = after({});
  await signIn.pretend('a password');
  expect(did).toEqual([['verify', null, 'a password']]);
});
