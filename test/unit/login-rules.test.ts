import { countedAddress } from '../../src/domain/addresses/counted-address.js';
import { DomainError } from '../../src/domain/errors.js';
import { addressTyped, isMailAddress } from '../../src/domain/logins/address.js';
import { createApiChallenges } from '../../src/domain/logins/api-challenges.js';
import { createApiOwn } from '../../src/domain/logins/api-own.js';
import { createApiSelections } from '../../src/domain/logins/api-selections.js';
import { createEmailedCodes, digitsOf } from '../../src/domain/logins/emailed-codes.js';
import { createGate, type GateQuestion } from '../../src/domain/logins/gate.js';
import { createPasswordLogin } from '../../src/domain/logins/password.js';
import { createPendingSignIns, type OpenSignIn } from '../../src/domain/logins/pending-sign-ins.js';
import type { SigningIn } from '../../src/domain/logins/sign-in-terms.js';
import type { MfaDecision } from '../../src/domain/mfa/gate.js';
import { noMfaState } from '../../src/domain/mfa/state.js';
import { hashSecret } from '../../src/platform/crypto/one-time-secret.js';
import { createSealing } from '../../src/platform/crypto/sealing.js';
import { isBounded, isMailable } from '../../src/platform/mail/addresses.js';
import { hashesRefused } from '../../src/platform/metrics/metrics.js';
import { answering } from '../support/answering.js';

/** Decisions after PostgreSQL has answered; the integration tests of each sign-in method cover the answers. */
const now = new Date('2026-03-01T12:00:00Z');
const later = (ms: number) => new Date(now.getTime() + ms);
const minute = 60_000;
const scope = { accountId: 'acc', applicationId: 'app', environmentId: 'env' };
const sealing = createSealing([{ id: 'test', key: Buffer.alloc(32, 7) }]);
const codeOf = async (work: Promise<unknown>): Promise<string | null> =>
  work.then(
    () => null,
    (error: unknown) => {
      if (error instanceof DomainError) return error.code;
      throw error;
    },
  );

describe('a typed address', () => {
  test.each([
    ['ana@example.com', 'ana@example.com'],
    [`${'a'.repeat(308)}@example.com`, `${'a'.repeat(308)}@example.com`],
    [`${'a'.repeat(309)}@example.com`, ''],
    ['ana\u0000@example.com', ''],
    ['ana\u007f@example.com', ''],
    ['\nana@example.com', ''],
    ['ana@bücher.example', 'ana@xn--bcher-kva.example'],
    ['Ana@XN--bcher-kva.example', 'Ana@XN--bcher-kva.example'],
    ['ana@bücher.example/x', 'ana@bücher.example/x'],
    ['bücher', 'bücher'],
  ])('%j is looked up as %j', (typed, lookedUp) => expect(addressTyped(typed)).toBe(lookedUp));

  test.each(['IRIS@example.com', 'İris@example.com', 'ırıs@example.com', 'iri\u0307s@example.com'])(
    'attempts for %j count as for iris@example.com',
    (typed) => expect(countedAddress(typed)).toBe('iris@example.com'),
  );

  test.each([
    ...['ana@example.com', 'Ana.B+c@EXAMPLE.co.uk', "o'neil_x@a-b.example", 'a@1.example', 'a.b.c@x.y'],
    ...[`${'a'.repeat(64)}@example.com`, `a@${'b'.repeat(63)}.example`, 'a@1.2.3.4a', 'a@b.1-2'],
    `${'a'.repeat(64)}@${`${'b'.repeat(61)}.`.repeat(3)}com`,
  ])('%s is one mail address', (text) => expect(isMailAddress(text)).toBe(true));

  test.each([
    ...[
      'ana',
      '@example.com',
      'ana@',
      'ana@example',
      'ana@-a.example',
      'ana@a-.example',
      'ana@example.-x',
      'ana@example.x-',
    ],
    ...[
      '.ana@example.com',
      'ana.@example.com',
      'a..b@example.com',
      'ana@ex ample.com',
      'a@b@example.com',
      'ana@.example',
    ],
    ...['x ana@example.com', 'ana@example.com x', 'ana@example.com, ben@example.com', 'ana@exam_ple.com', ''],
    `${'a'.repeat(64)}@${`${'b'.repeat(61)}.`.repeat(3)}comm`,
    // RFC 5321 §4.5.3.1, RFC 1035 §2.3.4 and RFC 3696 §2
    ...[
      `${'a'.repeat(65)}@example.com`,
      `a@${'b'.repeat(64)}.example`,
      `a@example.${'b'.repeat(64)}`,
      'a@1.2.3.4',
      'a@b.1',
    ],
  ])('"%s" is no mail address', (text) => expect(isMailAddress(text)).toBe(false));

  test.each([`${'ü'.repeat(33)}@example.com`, 'ü@1.2.3.4', `ü@${'b'.repeat(64)}.example`])(
    '"%s" can get mail, and is too long for a new person',
    (text) => expect([isMailable(text), isBounded(text)]).toEqual([true, false]),
  );
});

describe('a password', () => {
  const ana = {
    identityId: 'ana',
    passwordHash: 'hash',
    linkId: null,
    passwordChangedAt: later(-minute),
    isVerified: true,
    isActive: true,
  };
  const typed = { email: 'Ana@example.com', password: 'right', ipAddress: '192.0.2.1' };
  function login(row: object | null, { needsRehash = false, rehashFails = false, isFull = false } = {}) {
    const known = {
      find_identities_for_sign_in: row ? [{ ...row, position: 1 }] : [],
      find_identity_for_sign_in_anywhere: row ? [row] : [],
    };
    const { db, asked, written } = answering(known);
    const did: unknown[][] = [];
    const attempt = { accountId: 'acc', email: '', ipAddress: '', locksUntil: null };
    const passwords = {
      async verify(hash: string | null, password: string) {
        did.push(['verify', hash, password]);
        return hash === 'hash' && password === 'right';
      },
      isFull: () => isFull,
      needsRehash: () => needsRehash,
      async hash() {
        did.push(['hash']);
        if (rehashFails) throw new Error('out of memory');
        return 'stronger';
      },
    };
    const attempts = {
      async begin(one: object) {
        did.push(['begin', one]);
        return attempt;
      },
      look: (_: object, look: () => Promise<unknown>) => look(),
      async failed(_scope: object, one: object, failure: object) {
        did.push(['failed', one === attempt, failure]);
      },
      async succeeded(one: object) {
        did.push(['succeeded', one === attempt]);
      },
      async withdrawn(one: object) {
        did.push(['withdrawn', one === attempt]);
      },
    } as never;
    const onRehashError = (error: unknown) => void did.push(['told', String(error)]);
    return {
      ...createPasswordLogin({ db, passwords: passwords as never, attempts, onRehashError }),
      did,
      asked,
      written,
    };
  }
  const turn = () => new Promise((resolve) => setImmediate(resolve));

  test('that is right lets in, and its failures are forgotten', async () => {
    const { signIn, did, asked } = login(ana);
    const asOf = { passwordChangedAt: ana.passwordChangedAt, email: 'Ana@example.com' };
    const accepted = { outcome: 'accepted', identityId: 'ana', ...asOf };
    expect(await signIn(scope, typed)).toEqual(accepted);
    await turn();
    expect(did).toEqual([
      ['begin', { accountId: 'acc', email: 'Ana@example.com', ipAddress: '192.0.2.1' }],
      ['verify', 'hash', 'right'],
      ['succeeded', true],
    ]);
    expect(asked).toEqual([{ name: 'find_identities_for_sign_in', values: ['acc', 'env', ['Ana@example.com']] }]);
  });

  test.each<[string, object | null, object, string | null, object]>([
    ['wrong', ana, { password: 'wrong' }, 'hash', { identityId: 'ana' }],
    ['of an unknown person', null, {}, null, { identityId: null }],
    ['of an inactive person', { ...ana, isActive: false }, {}, null, { identityId: 'ana' }],
    ['of a person without a password', { ...ana, passwordHash: null }, {}, null, { identityId: 'ana' }],
    ['longer than any password can be', ana, { password: `right${'x'.repeat(1020)}` }, null, { identityId: 'ana' }],
  ])('that is %s is verified like any other, and refused', async (_name, row, changes, hash, failure) => {
    const { signIn, did } = login(row);
    expect(await signIn(scope, { ...typed, ...changes })).toEqual({ outcome: 'refused' });
    expect(did.slice(1)).toEqual([
      ['verify', hash, expect.any(String)],
      ['failed', true, { ...failure, method: 'password' }],
    ]);
  });

  test('of the maximum length is verified whole, and of a longer one no more than that', async () => {
    const verified = async (length: number) => {
      const { signIn, did } = login(ana);
      await signIn(scope, { ...typed, password: 'x'.repeat(length) });
      return did[1]?.slice(1).map((each) => (each === 'hash' ? each : String(each).length));
    };
    expect(await verified(1024)).toEqual(['hash', 1024]);
    expect(await verified(1025)).toEqual([4, 1024]); // null
  });

  test('of an unconfirmed address lets nobody in, and says which link waits', async () => {
    const { signIn, did } = login({ ...ana, isVerified: false, linkId: 'link' }, { needsRehash: true });
    expect(await signIn(scope, typed)).toEqual({ outcome: 'unverified', identityId: 'ana', linkId: 'link' });
    expect(did.at(-1)).toEqual(['withdrawn', true]); // the password in the link proves nothing
    const own = login({ ...ana, isVerified: false });
    expect(await own.signIn(scope, typed)).toMatchObject({ outcome: 'unverified' });
    expect(own.did).toContainEqual(['succeeded', true]);
  });

  test('for which there is no room is refused before anything is counted, and counts as not hashed', async () => {
    const refused = async () => (await hashesRefused.get()).values[0]?.value ?? 0;
    const before = await refused();
    const { signIn, did } = login(ana, { isFull: true });
    await expect(signIn(scope, typed)).rejects.toMatchObject({ code: 'service.unavailable' });
    expect([did, (await refused()) - before]).toEqual([[], 1]);
  });

  test('with a weaker hash is hashed again, and an error there locks nobody out', async () => {
    const { signIn, did, written } = login(ana, { needsRehash: true });
    await signIn(scope, typed);
    await turn();
    expect(did.at(-1)).toEqual(['hash']);
    // Replaces the hash that was right, and no other.
    expect(written).toEqual([{ scope: { accountId: 'acc' }, values: ['acc', 'ana', 'stronger', 'hash'] }]);
    const failing = login(ana, { needsRehash: true, rehashFails: true });
    expect(await failing.signIn(scope, typed)).toMatchObject({ outcome: 'accepted' });
    await turn();
    expect(failing.did.at(-1)).toEqual(['told', 'Error: out of memory']);
  });

  test.each<[string, object, string, object | null]>([
    ['a member', { isMember: true, isElsewhere: true }, 'accepted', null],
    ['a member elsewhere', { isActive: false, isMember: false, isElsewhere: true }, 'elsewhere', null],
    ['a stranger', { isActive: false, isMember: false, isElsewhere: false }, 'refused', { identityId: null }],
    ['an inactive member', { isActive: false, isMember: true, isElsewhere: false }, 'refused', { identityId: 'ana' }],
  ])('tried anywhere: %s', async (_name, changes, outcome, failure) => {
    const { signInAnywhere, did, asked } = login({ ...ana, ...changes });
    expect(await signInAnywhere(scope, typed)).toMatchObject({ outcome });
    expect(asked.map(({ name }) => name)).toEqual(['find_identity_for_sign_in_anywhere']);
    if (failure) expect(did.at(-1)).toEqual(['failed', true, { ...failure, method: 'password' }]);
  });

  test('tried anywhere, a wrong one of a person elsewhere names nobody in this log', async () => {
    const { signInAnywhere, did } = login({ ...ana, isActive: false, isMember: false, isElsewhere: true });
    expect(await signInAnywhere(scope, { ...typed, password: 'wrong' })).toEqual({ outcome: 'refused' });
    expect(did.at(-1)).toEqual(['failed', true, { identityId: null, method: 'password' }]);
  });
});

describe('an emailed code', () => {
  const { digits, keyId } = digitsOf(sealing, { id: 'code' });
  const wrong = digits === '000000' ? '000001' : '000000';
  const tried = { id: 'code', keyId, identityId: 'ana', email: null };
  const redeem = async (code: string, rows: object = { try_emailed_code: [tried], consume_emailed_code: [{}] }) => {
    const { db, asked } = answering(rows as never);
    const codes = createEmailedCodes({ db, sealing, now: () => now });
    return { found: await codes.redeem(scope, { purpose: 'login', flow: 'flow', code }), asked };
  };

  test('has six digits, the same for the same id', () => {
    expect(digits).toMatch(/^\d{6}$/);
    expect(digitsOf(sealing, { id: 'code', keyId }).digits).toBe(digits);
    expect(digitsOf(sealing, { id: 'other' }).digits).not.toBe(digits);
    const derive = (number: number) => () => {
      const secret = Buffer.alloc(32);
      secret.writeUIntBE(number, 0, 6);
      return { secret, keyId: 'k' };
    };
    expect(digitsOf({ derive: derive(7) }, { id: 'code' }).digits).toBe('000007');
    expect(digitsOf({ derive: derive(12_345_678) }, { id: 'code' }).digits).toBe('345678');
  });

  test('that is right says whose it is, and is used up', async () => {
    const { found, asked } = await redeem(digits);
    expect(found).toEqual({ id: 'code', identityId: 'ana', email: null });
    expect(asked).toEqual([
      { name: 'try_emailed_code', values: ['env', hashSecret('flow'), 'login', now] },
      { name: 'consume_emailed_code', values: ['code', now] },
    ]);
  });

  test('may be typed with blanks', async () => {
    expect((await redeem(` ${digits.slice(0, 3)} ${digits.slice(3)}\n`)).found).toMatchObject({ identityId: 'ana' });
  });

  test('that is wrong is not used up; a used, expired or too often tried one is refused', async () => {
    const { found, asked } = await redeem(wrong);
    expect([found, asked.map(({ name }) => name)]).toEqual(['wrong', ['try_emailed_code']]);
    expect((await redeem(digits, {})).found).toBe('void');
    expect((await redeem(digits, { try_emailed_code: [tried] })).found).toBe('void');
  });
});

describe('the gate', () => {
  const settings = { passwordLoginEnabled: true, emailOtpLoginEnabled: true, passkeyLoginEnabled: false };
  const allows = { password: true, email_otp: true, passkey: true, sso: true };
  const open = {
    allows,
    requireSso: false,
    requireMfa: false,
    ssoSatisfied: false,
    connections: [],
    takesEnvironments: false,
    belongs: true,
  };
  const first = { identityId: 'ana', method: 'password', amr: ['pwd'], acr: 'x', authenticatedAt: now };
  async function decide(policy: object, decision: MfaDecision['step'], changes: object = {}, more: object = {}) {
    const { db, events } = answering();
    const asked: unknown[] = [];
    const mfaGate = {
      async decide(question: { requiresMfa?: boolean }) {
        asked.push(question.requiresMfa);
        return { step: decision } as MfaDecision;
      },
    };
    const termsOf = async ({ environmentId }: { environmentId: string }, of: SigningIn) => {
      asked.push([environmentId, of.identityId, of.organizationId, of.ssoConnectionId]);
      return { policy: { ...open, ...policy }, mfa: noMfaState };
    };
    const question = { client: { ...scope, settings }, first: { ...first, ...changes }, ...more };
    const answer = await createGate({ db, mfaGate, termsOf }).decide(question as unknown as GateQuestion);
    return {
      answer,
      asked,
      events: events.map(({ resource_id, outcome, metadata }) => [resource_id, outcome, metadata]),
      of: events.map((event) => ({
        accountId: event.account_id,
        applicationId: event.application_id,
        environmentId: event.environment_id,
      })),
    };
  }

  test('asks what the organizations of the person require, then for the second factor', async () => {
    const { answer, asked, events } = await decide({ requireMfa: true }, 'done');
    expect(answer).toEqual({ step: 'done' });
    expect(asked).toEqual([['env', 'ana', null, null], true]);
    expect(events).toEqual([]);
    const named = await decide({}, 'done', { ssoConnectionId: 'c' }, { organizationId: 'o' });
    expect(named.asked).toEqual([['env', 'ana', 'o', 'c'], false]);
  });

  test('bars a method that they do not allow, before any second factor, and records it', async () => {
    const { answer, asked, events, of } = await decide({ allows: { ...allows, password: false } }, 'challenge');
    expect(answer).toEqual({
      step: 'barred',
      code: 'login.method_not_allowed',
      methods: ['email_otp'],
      connections: [],
    });
    expect(asked).toHaveLength(1);
    expect(events).toEqual([['ana', 'denied', { method: 'password', reason: 'login.method_not_allowed' }]]);
    expect(of).toEqual([scope]);
  });

  test('bars a present session too, without recording every visit', async () => {
    const { answer, events } = await decide({ requireSso: true }, 'done', { method: 'session' });
    expect(answer).toMatchObject({ step: 'barred', code: 'sso_required', methods: [] });
    expect(events).toEqual([]);
  });

  test.each([
    ['done', 'stranger'],
    ['enroll', 'stranger'],
    ['challenge', 'challenge'],
    ['refused', 'refused'],
  ] as const)(
    'a person outside the organization is told so only after all is proved: %s becomes %s',
    async (step, told) => {
      const { answer, events } = await decide({ belongs: false }, step);
      expect(answer).toEqual({ step: told });
      const reason = { stranger: 'not_a_member', refused: 'mfa.enrollment_required', challenge: null }[told];
      expect(events).toEqual(reason ? [['ana', 'denied', { method: 'password', reason }]] : []);
    },
  );

  test('records a person who comes after the grace, unless a session goes on', async () => {
    const denied = ['ana', 'denied', { method: 'password', reason: 'mfa.enrollment_required' }];
    expect((await decide({}, 'refused')).events).toEqual([denied]);
    expect((await decide({}, 'refused', { method: 'session' })).events).toEqual([]);
  });
});

describe('a sign-in between two factors', () => {
  const pending = (rows: Record<string, object[]> = {}) => {
    const { db, asked } = answering(rows);
    return { ...createPendingSignIns({ db, now: () => now }), asked };
  };
  const token = 'a'.repeat(43);

  test('is found by its token and channel; what cannot be a token is not looked up', async () => {
    const { find, asked } = pending({ find_pending_sign_in: [{ id: 'p' }] });
    expect(await find(token, 'api')).toEqual({ id: 'p' });
    expect(asked.map(({ values }) => values)).toEqual([[hashSecret(token), 'api', now]]);
    for (const wrong of ['', 'a'.repeat(42), 'a'.repeat(44), ` ${token}`, `${token}=`, `${'a'.repeat(42)}+`]) {
      expect(await find(wrong, 'api')).toBeNull();
    }
    expect(asked).toHaveLength(1);
    expect(await pending().find(token, 'hosted')).toBeNull();
  });

  test('completes once, and its challenge is accepted once', async () => {
    const open = pending({
      complete_pending_sign_in: [{ id: 'p' }],
      take_webauthn_challenge: [{ challenge: 'c' }],
    });
    await open.setWebauthnChallenge('p', 'c');
    expect(await open.takeWebauthnChallenge('p')).toBe('c');
    expect(await open.complete('p')).toBe(true);
    expect(open.asked).toEqual([
      { name: 'set_webauthn_challenge', values: ['p', 'c'] },
      { name: 'take_webauthn_challenge', values: ['p'] },
      { name: 'complete_pending_sign_in', values: ['p', now] },
    ]);
    expect(await pending().complete('p')).toBe(false);
    expect(await pending().takeWebauthnChallenge('p')).toBeNull();
  });

  test.each([
    ['challenge', 10],
    ['enrollment', 30],
  ] as const)('an unfinished %s lives for %i minutes', async (purpose, minutes) => {
    const { begin, asked } = pending();
    const first = {
      identityId: 'ana',
      method: 'password',
      amr: ['pwd'],
      acr: 'x',
      authenticatedAt: now,
      secondFactorAt: null,
      ownFactorAt: null,
    } as never;
    const client = { id: 'c', accountId: 'acc', environmentId: 'env' };
    const of = { client, channel: 'api', purpose, first, requiresAal2: false, parameters: {} } as const;
    const begun = await begin(of);
    expect(begun.expiresAt).toEqual(later(minutes * minute));
    expect(asked[0]?.values).toEqual(
      expect.arrayContaining([hashSecret(begun.token), purpose, later(minutes * minute)]),
    );
    expect(asked[0]?.values).not.toContain(undefined); // what it does not say is null, and nothing was proved before
    expect(asked[0]?.values).not.toContain(true);
    await begin({ ...of, hasProvedFactor: true });
    expect(asked[1]?.values).toContain(true);
  });
});

describe('a second factor over the API', () => {
  const open = {
    id: 'p',
    purpose: 'challenge',
    oauthClientId: 'c',
    identityId: 'ana',
    requiresAal2: false,
    method: 'password',
    parameters: { client_id: 'app', scope: 'openid other' },
    amr: ['pwd'],
    acr: 'x',
    authenticatedAt: now,
    secondFactorAt: null,
    ssoConnectionId: null,
  } as unknown as OpenSignIn;
  const scopes = ['openid', 'profile', 'email'];
  const client = { id: 'c', clientId: 'app', scopes, settings: { mfaTrustedDeviceDays: 30 } };
  const answer = {
    token: 't',
    proof: {} as never,
    remember: true,
    device: 'd',
    ipAddress: '192.0.2.1',
    userAgent: 'agent',
  };
  function challenges(changes: { pending?: OpenSignIn | null; client?: object | null; isOver?: boolean }) {
    const { pending = open, isOver = false } = changes;
    const did: unknown[][] = [];
    const logins = {
      pendingSignIns: {
        find: async (token: string, channel: string) => (token === 't' && channel === 'api' ? pending : null),
      },
      mfaChallenges: {
        async answer(_of: unknown, _proof: unknown, browser: object | null) {
          if (isOver) throw new DomainError('mfa.challenge_invalid');
          const proved = { amr: ['pwd', 'otp'], secondFactorAt: now };
          return { proved, trusted: browser && { device: 'new', of: browser } };
        },
        sendEmailCode: async (...of: unknown[]) => void did.push(['mail', ...of]),
        webauthnOptions: async (of: unknown) => ({ of }),
      },
    } as never;
    const found = changes.client === undefined ? client : changes.client;
    const clients = { find: async (id: string) => (id === 'app' ? found : null) } as never;
    const signIn = {
      async proved(visit: object, first: object, isSecond: boolean) {
        did.push(['proved', visit, first, isSecond]);
        return { outcome: 'signed_in' };
      },
    } as never;
    const { db, asked } = answering({ client_of_api_challenge: [{ clientId: 'app' }] });
    return { did, asked, ...createApiChallenges({ db, logins, clients, signIn }) };
  }

  test('continues with what was requested and proved, and trusts the browser on request', async () => {
    const { answer: send, did } = challenges({});
    const trusted = { device: 'new', of: { days: 30, device: 'd', userAgent: 'agent' } };
    const answered = await send(answer);
    expect([answered.trusted, did]).toEqual([trusted, []]); // the cookie is set before the sign-in continues
    expect(await answered.goOn()).toEqual({ outcome: 'signed_in' });
    const browser = { device: 'd', ipAddress: '192.0.2.1', userAgent: 'agent' };
    expect(did).toEqual([
      [
        'proved',
        { client, scope: ['openid'], requiresAal2: false, ...browser },
        {
          identityId: 'ana',
          method: 'password',
          amr: ['pwd', 'otp'],
          acr: 'x',
          authenticatedAt: now,
          secondFactorAt: now,
          ssoConnectionId: null,
        },
        { hasProvedFactor: true },
      ],
    ]);
  });

  test.each<[string, Parameters<typeof challenges>[0], object]>([
    ['if the person does not ask for it', {}, { remember: false }],
    ['if the client allows zero days', { client: { ...client, settings: { mfaTrustedDeviceDays: 0 } } }, {}],
  ])('no browser is trusted %s', async (_name, changes, more) => {
    expect((await challenges(changes).answer({ ...answer, ...more })).trusted).toBeNull();
  });

  test.each<[string, Parameters<typeof challenges>[0]]>([
    ['unknown', { pending: null }],
    ['an enrollment', { pending: { ...open, purpose: 'enrollment' } }],
    ['of a deleted client', { client: null }],
    ['of a client whose client_id another client has now', { client: { ...client, id: 'other' } }],
    ['without a client', { pending: { ...open, parameters: {} } }],
    ['answered already', { isOver: true }],
  ])('a challenge that is %s is refused', async (_name, changes) => {
    expect(await codeOf(challenges(changes).answer(answer))).toBe('mfa.challenge_invalid');
  });

  test('accepts codes and keys for an open challenge only', async () => {
    const { sendEmailCode, webauthnOptions, clientOf, did, asked } = challenges({});
    await sendEmailCode('t', () => 'de');
    expect(did).toEqual([['mail', open, 'de']]);
    expect(await webauthnOptions('t')).toEqual({ of: open });
    expect(await codeOf(sendEmailCode('other', () => 'de'))).toBe('mfa.challenge_invalid');
    expect(await codeOf(webauthnOptions('other'))).toBe('mfa.challenge_invalid');
    expect(await clientOf('t')).toEqual(client);
    expect(asked).toEqual([{ name: 'client_of_api_challenge', values: [hashSecret('t')] }]);
  });
});

describe('the choice of an application', () => {
  const proved = {
    identityId: 'ana',
    amr: ['pwd'],
    authenticatedAt: later(-minute),
    passwordChangedAt: later(-2 * minute),
    email: 'ana@example.com',
  };
  const selections = (at = now, rows: Record<string, object[]> = {}) => {
    const { db, asked } = answering(rows);
    return { asked, ...createApiSelections({ db, sealing, now: () => at }) };
  };

  test('is read as it was written, for five minutes', () => {
    const { token, expiresAt } = selections().begin(scope, proved);
    expect(expiresAt).toEqual(later(5 * minute));
    const read = { ...proved, id: expect.any(String), accountId: 'acc', environmentId: 'env', expiresAt };
    expect(selections(later(5 * minute - 1)).read(token)).toEqual(read);
    expect(selections(later(5 * minute)).read(token)).toBeNull();
    expect(selections().read(`${token}x`)).toBeNull();
    expect(selections().read(sealing.seal('{}', 'another purpose'))).toBeNull();
  });

  test('can be made once', async () => {
    const { begin, read } = selections();
    const selection = read(begin(scope, proved).token);
    const first = selections(now, { spend_sealed_token: [{}] });
    expect(await first.spend(selection as never)).toBe(true);
    expect(first.asked[0]?.values).toEqual([hashSecret(selection?.id as string), selection?.expiresAt]);
    expect(await selections().spend(selection as never)).toBe(false);
  });

  test('is among what the person may enter', async () => {
    const { begin, read } = selections();
    const selection = read(begin(scope, proved).token);
    const entering = selections(now, { identity_may_enter: [{}] });
    expect(await entering.mayEnter(selection as never, { environmentId: 'other' })).toBe(true);
    const asked = ['ana', 'env', 'acc', 'other', proved.passwordChangedAt, proved.email];
    expect(entering.asked[0]?.values).toEqual(asked);
    expect(await selections().mayEnter(selection as never, { environmentId: 'other' })).toBe(false);
    const list = selections(now, { applications_of_identity: [{ id: 'a' }] });
    expect(await list.reachableFrom(scope, 'ana')).toEqual([{ id: 'a' }]);
    expect(list.asked[0]?.values).toEqual(['ana', 'env', 'acc']);
  });
});

describe('what a signed-in person has to have proved', () => {
  const subject = { ...scope, identityId: 'ana', sessionId: 's', authenticatedAt: now } as never;
  const mfa = {
    amr: ['pwd'],
    acr: 'urn:gatehouse:aal1',
    hasFactors: false,
    hasStrongFactor: false,
    isVerified: true,
  };
  const own = (changes: object | null, isEnough = true) => {
    const rows = changes === null ? [] : [{ ...mfa, ...changes }];
    const { db, asked } = answering({ standing_of_api_session: rows });
    const proofs: unknown[][] = [];
    const ownProof = async (...of: unknown[]) => {
      proofs.push(of);
      return { isEnough };
    };
    return { asked, proofs, ...createApiOwn({ db, logins: { ownProof } as never }) };
  };
  const again = 'auth.reauthentication_required';

  test('is a recent sign-in, not an old one', async () => {
    const { assertRecent, asked, proofs } = own({});
    expect(await assertRecent(subject)).toEqual(mfa);
    expect(asked[0]?.values).toEqual(['acc', 'env', 'ana', 's', 'app']);
    expect(proofs[0]?.[1]).toMatchObject({ identityId: 'ana', acr: mfa.acr });
    expect(await codeOf(own({}, false).assertRecent(subject))).toBe(again);
  });

  test('includes a mailed code, if that is all they have', async () => {
    const code = { hasFactors: true };
    expect(await codeOf(own(code).assertRecent(subject))).toBe(again);
    expect(await codeOf(own({ ...code, amr: ['pwd', 'otp'] }).assertRecent(subject))).toBeNull();
    expect(await codeOf(own({ ...code, hasStrongFactor: true }).assertRecent(subject))).toBeNull();
    expect(await codeOf(own({ ...code, isVerified: false }).assertRecent(subject))).toBeNull(); // no code is mailed to an unconfirmed address
    expect(await codeOf(own({ ...code, amr: ['pwd', 'otp'] }, false).assertRecent(subject))).toBe(again);
  });

  test('is not enough in a test environment for a person who is in production, however recent the sign-in', async () => {
    expect(await codeOf(own({ isTestOfProduction: true }).assertRecent(subject))).toBe('identity.in_production');
  });

  test('includes two factors, if they have them', async () => {
    const strong = { hasFactors: true, hasStrongFactor: true };
    expect(await codeOf(own(strong).assertStrong(subject))).toBe(again);
    expect(await codeOf(own({ ...strong, acr: 'urn:gatehouse:aal2' }).assertStrong(subject))).toBeNull();
    expect(await codeOf(own({ hasFactors: true }).assertStrong(subject))).toBeNull();
  });

  test('is nothing in a session that has ended meanwhile', async () => {
    for (const ask of ['assertRecent', 'assertStrong'] as const) {
      expect(await codeOf(own(null)[ask](subject))).toBe('auth.invalid_credentials');
    }
  });
});
