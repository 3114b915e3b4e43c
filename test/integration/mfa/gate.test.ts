import type { FactorKind, MfaPolicy } from '../../../entities/environment-settings.js';
import type { NewFactor } from '../../../src/domain/mfa/factors.js';
import { createMfaGraces } from '../../../src/domain/mfa/grace/grace.js';
import type { FirstFactor } from '../../../src/domain/sessions/first-factor.js';
import { days } from '../../../src/platform/clock.js';
import { enrollTotp, giveFactor, strongSession as signedInStrongly } from '../../support/mfa.js';
import { newProvider } from '../../support/oauth/provider.js';
import { newOther } from '../../support/other-environment.js';

const provider = await newProvider();
afterAll(() => provider.close());

interface Case {
  policy: MfaPolicy;
  /** What the person has enrolled, with recovery codes unless `recovery` is false. */
  has?: ('totp' | 'webauthn' | 'email_otp')[];
  recovery?: boolean;
  allowed?: FactorKind[];
  grace?: number;
  trusted?: boolean;
  trustedDays?: number;
  first?: Partial<FirstFactor>;
  aal2?: boolean;
  /** Whether aal2 is preferred to aal1. */
  rather?: boolean;
  proved?: boolean;
  owner?: boolean;
}

async function decide(given: Case) {
  const { policy, has = [], recovery = true, grace = 7, trusted = false, trustedDays = 30 } = given;
  const allowed = given.allowed ?? ['totp', 'webauthn', 'recovery_code', 'email_otp'];
  const environment = await provider.newEnvironment({
    mfaPolicy: policy,
    mfaAllowedFactors: [...new Set<FactorKind>([...has, ...(recovery ? (['recovery_code'] as const) : [])])],
    mfaGracePeriodDays: grace,
    mfaTrustedDeviceDays: trustedDays,
  });
  const ana = await environment.newIdentity();
  const { accountId, applicationId, environmentId } = environment;
  const scope = { accountId, applicationId, environmentId };
  for (const type of has) {
    if (type === 'totp') await enrollTotp(provider, environment, ana);
    else await giveFactor(provider, scope, ana.id, factors[type](ana.id));
  }
  await provider.query('update environment_settings set mfa_allowed_factors = $2 where environment_id = $1', [
    environmentId,
    allowed,
  ]);
  const trust = { identityId: ana.id, days: 30, device: null, userAgent: null };
  const device = trusted ? (await provider.logins.trustedDevices.trust(scope, trust, provider.db)).device : null;
  const client = await provider.provider.clients.find((await environment.newClient()).clientId);
  if (!client) throw new Error('no client');
  const question = () => ({
    client,
    first: { ...password, authenticatedAt: provider.now(), ...given.first, identityId: ana.id },
    device,
    requiresAal2: given.aal2 ?? false,
    prefersAal2: given.rather ?? false,
    hasProvedFactor: given.proved ?? false,
    isOwnerWanted: given.owner ?? false,
  });
  return { decision: await provider.logins.gate.decide(question()), scope, ana, question };
}
const factors: Record<'webauthn' | 'email_otp', (id: string) => NewFactor> = {
  email_otp: () => ({ id: crypto.randomUUID(), type: 'email_otp', label: 'Email' }),
  webauthn: () => ({
    id: crypto.randomUUID(),
    type: 'webauthn',
    label: 'Key',
    credentialId: Buffer.from(crypto.randomUUID()),
    publicKey: Buffer.from('key'),
    signCount: '0',
    transports: [],
    deviceType: 'single_device',
    isBackedUp: false,
    isDiscoverable: false,
  }),
};
const password: Omit<FirstFactor, 'identityId' | 'authenticatedAt'> = {
  method: 'password',
  amr: ['pwd'],
  acr: 'urn:gatehouse:aal1',
  secondFactorAt: null,
  ownFactorAt: null,
};
const at = new Date('2026-03-01T11:00:00Z');
const mail = { method: 'email_otp', amr: ['otp'] } as const;
const passkey = {
  method: 'passkey',
  amr: ['swk', 'user', 'mfa'],
  acr: 'urn:gatehouse:aal2',
  secondFactorAt: at,
} as const;
const weakKey = { method: 'passkey', amr: ['hwk'] } as const;
const session = { method: 'session', amr: ['pwd'] } as const;
const strongSession = {
  method: 'session',
  amr: ['pwd', 'otp', 'mfa'],
  acr: 'urn:gatehouse:aal2',
  secondFactorAt: at,
} as const;
const mailedSession = { method: 'session', amr: ['pwd', 'otp'], secondFactorAt: at } as const;
/** A session in a trusted browser. */
const trustedSession = { method: 'session', amr: ['pwd'], secondFactorAt: at } as const;
const sessionByMail = { method: 'session', amr: ['otp'] } as const;
const mut = (first: object) => structuredClone(first) as Partial<FirstFactor>;

const done = 'done';
const enroll = (until: 'grace' | 'now', ...kinds: string[]) => `enroll ${until} ${kinds.join(' ')}`;
const challenge = (...kinds: string[]) => `challenge ${kinds.join(' ')}`;

test.each<[string, Case, string]>([
  // Nothing enrolled
  ['off, nothing enrolled', { policy: 'off' }, done],
  ['optional, nothing enrolled', { policy: 'optional' }, done],
  [
    'required, nothing enrolled: time to enroll',
    { policy: 'required' },
    enroll('grace', 'totp', 'webauthn', 'email_otp'),
  ],
  ['required, no grace: at once', { policy: 'required', grace: 0 }, enroll('now', 'totp', 'webauthn', 'email_otp')],
  [
    'required, by mail: a mailed code is no second factor',
    { policy: 'required', first: mut(mail) },
    enroll('grace', 'totp', 'webauthn'),
  ],
  ['required, with a passkey that verified its user: two factors', { policy: 'required', first: mut(passkey) }, done],
  [
    'required, with a key that did not verify its user: the same key is no second factor',
    { policy: 'required', first: mut(weakKey) },
    enroll('grace', 'totp', 'email_otp'),
  ],
  ['required, but nothing is allowed: nobody is locked out', { policy: 'required', allowed: [] }, done],
  ['required, only recovery codes allowed', { policy: 'required', allowed: ['recovery_code'] }, done],
  ['required, by mail, only mail allowed', { policy: 'required', allowed: ['email_otp'], first: mut(mail) }, done],
  ['required, a session within the time to enroll continues', { policy: 'required', first: mut(session) }, done],
  [
    'required without grace, an earlier session enrolls',
    { policy: 'required', grace: 0, first: mut(session) },
    enroll('now', 'totp', 'webauthn', 'email_otp'),
  ],
  ['aal2, nothing enrolled: now', { policy: 'off', aal2: true }, enroll('now', 'totp', 'webauthn')],
  ['aal2, but no factor that reaches it is allowed', { policy: 'off', aal2: true, allowed: ['email_otp'] }, done],
  ['aal2, with a passkey', { policy: 'required', aal2: true, first: mut(passkey) }, done],
  ['aal2, from a session with aal2', { policy: 'required', aal2: true, first: mut(strongSession) }, done],
  // Something enrolled
  ['off, an app enrolled', { policy: 'off', has: ['totp'] }, done],
  ['optional, an app enrolled', { policy: 'optional', has: ['totp'] }, challenge('totp', 'email_otp', 'recovery_code')],
  ['required, an app enrolled', { policy: 'required', has: ['totp'] }, challenge('totp', 'email_otp', 'recovery_code')],
  ['no recovery codes left', { policy: 'required', has: ['totp'], recovery: false }, challenge('totp', 'email_otp')],
  ['recovery codes not allowed', { policy: 'required', has: ['totp'], allowed: ['totp'] }, challenge('totp')],
  [
    'several enrolled',
    { policy: 'optional', has: ['totp', 'webauthn', 'email_otp'] },
    challenge('totp', 'webauthn', 'email_otp', 'recovery_code'),
  ],
  [
    'by mail, an app enrolled: no second mail',
    { policy: 'optional', has: ['totp'], first: mut(mail) },
    challenge('totp', 'recovery_code'),
  ],
  ['by mail, only mail enrolled: done', { policy: 'optional', has: ['email_otp'], first: mut(mail) }, done],
  [
    'by mail, only mail enrolled, required',
    { policy: 'required', has: ['email_otp'], recovery: false, first: mut(mail) },
    enroll('grace', 'totp', 'webauthn'),
  ],
  ['a session begun by a mailed code', { policy: 'optional', has: ['email_otp'], first: mut(sessionByMail) }, done],
  ['only mail enrolled', { policy: 'required', has: ['email_otp'], recovery: false }, challenge('email_otp')],
  [
    'a session without a second factor, after the policy came',
    { policy: 'required', has: ['totp'], first: mut(session) },
    challenge('totp', 'email_otp', 'recovery_code'),
  ],
  ['a session with a second factor', { policy: 'required', has: ['totp'], first: mut(strongSession) }, done],
  // aal2
  ['aal2 although MFA is off', { policy: 'off', has: ['totp'], aal2: true }, challenge('totp', 'recovery_code')],
  [
    'aal2 accepts no mailed code',
    { policy: 'optional', has: ['totp', 'email_otp'], aal2: true },
    challenge('totp', 'recovery_code'),
  ],
  [
    'aal2 from a session with a mailed code',
    { policy: 'optional', has: ['totp'], aal2: true, first: mut(mailedSession) },
    challenge('totp', 'recovery_code'),
  ],
  [
    'aal2, only mail enrolled: a mailed code is required before another factor is added',
    { policy: 'optional', has: ['email_otp'], recovery: false, aal2: true },
    challenge('email_otp'),
  ],
  [
    'aal2, only mail enrolled, proved in the session',
    { policy: 'optional', has: ['email_otp'], aal2: true, first: mut(mailedSession) },
    enroll('now', 'totp', 'webauthn'),
  ],
  // Trusted devices
  ['trusted', { policy: 'required', has: ['totp'], trusted: true }, 'done trusted'],
  ['trusted, optional', { policy: 'optional', has: ['totp'], trusted: true }, 'done trusted'],
  [
    'trusted, after a code by mail',
    { policy: 'required', has: ['totp'], trusted: true, first: mut(mail) },
    'done trusted',
  ],
  [
    'trusted never reaches aal2',
    { policy: 'optional', has: ['totp'], trusted: true, aal2: true },
    challenge('totp', 'recovery_code'),
  ],
  [
    'trusted, but trust is switched off',
    { policy: 'required', has: ['totp'], trusted: true, trustedDays: 0 },
    challenge('totp', 'email_otp', 'recovery_code'),
  ],
  [
    'trusted, its session is accepted like one with a factor',
    { policy: 'required', has: ['totp'], trusted: true, first: mut(trustedSession) },
    done,
  ],
  [
    'trusted, its session must prove a factor before another is added',
    { policy: 'optional', has: ['email_otp'], recovery: false, trusted: true, aal2: true, first: mut(trustedSession) },
    challenge('email_otp'),
  ],
  [
    'trusted, the owner of the account is still asked for',
    { policy: 'optional', has: ['email_otp'], recovery: false, trusted: true, owner: true },
    challenge('email_otp'),
  ],
  [
    'trusted by its session, the owner of the account is still asked for',
    { policy: 'required', has: ['email_otp'], recovery: false, owner: true, first: mut(trustedSession) },
    challenge('email_otp'),
  ],
  [
    'as the owner, a session with a mailed code is enough',
    { policy: 'required', has: ['email_otp'], owner: true, first: mut(mailedSession) },
    done,
  ],
  [
    'as the owner, a person with mailed codes alone proves one, even if MFA is off',
    { policy: 'off', has: ['email_otp'], recovery: false, owner: true, aal2: true },
    challenge('email_otp'),
  ],
  [
    'as the owner, a person with mailed codes alone proves one, even if nothing better is allowed',
    { policy: 'off', has: ['email_otp'], recovery: false, allowed: ['email_otp'], owner: true, aal2: true },
    challenge('email_otp'),
  ],
  [
    'as the owner, a person who proved a mailed code need not enroll what is not required',
    { policy: 'off', has: ['email_otp'], owner: true, aal2: true, proved: true, first: { amr: ['pwd', 'otp'] } },
    done,
  ],
  [
    'as the owner, a person who proved a mailed code enrolls what is required',
    {
      policy: 'required',
      has: ['email_otp'],
      allowed: ['totp'],
      owner: true,
      aal2: true,
      proved: true,
      first: { amr: ['pwd', 'otp'] },
    },
    enroll('now', 'totp'),
  ],
  [
    'trusted, without a factor',
    { policy: 'required', trusted: true },
    enroll('grace', 'totp', 'webauthn', 'email_otp'),
  ],
  // Factors that the Environment does not (or no longer) allow
  [
    'a factor that is not allowed any more is proved before another is added',
    { policy: 'required', has: ['totp'], recovery: false, allowed: ['webauthn'] },
    challenge('totp'),
  ],
  [
    'after that proof, an allowed factor has to be enrolled',
    { policy: 'required', has: ['totp'], recovery: false, allowed: ['webauthn'], proved: true },
    enroll('grace', 'webauthn'),
  ],
  // aal2 is preferred to aal1
  [
    'aal2 preferred, with a factor for it: it is asked for, even in a trusted browser',
    { policy: 'off', has: ['totp', 'email_otp'], recovery: false, trusted: true, rather: true },
    challenge('totp'),
  ],
  [
    'aal2 preferred, with a factor for it: it is asked for, even after another factor',
    { policy: 'optional', has: ['totp'], recovery: false, first: mut(mailedSession), rather: true },
    challenge('totp'),
  ],
  ['aal2 preferred, without a factor: none is enrolled', { policy: 'optional', rather: true }, done],
  [
    'aal2 preferred, with a factor that does not reach it: done',
    { policy: 'off', has: ['email_otp'], rather: true },
    done,
  ],
  [
    'aal2 preferred, with a factor that is not allowed: done',
    { policy: 'off', has: ['totp'], allowed: [], rather: true },
    done,
  ],
  [
    'aal2 preferred, MFA required: the usual time to enroll',
    { policy: 'required', rather: true },
    enroll('grace', 'totp', 'webauthn', 'email_otp'),
  ],
  [
    'optional, a factor that is not allowed any more is not asked for',
    { policy: 'optional', has: ['totp'], allowed: ['webauthn'] },
    done,
  ],
])('%s', async (_, given, expected) => {
  const { decision } = await decide(given);
  if (decision.step === 'done') {
    expect(decision.amr).toEqual(given.first?.amr ?? ['pwd']); // never a factor that was not used
    const isTrusted = decision.secondFactorAt !== null && (given.first?.secondFactorAt ?? null) === null;
    if (isTrusted) expect(decision.acr).toBe('urn:gatehouse:aal1');
    expect(isTrusted ? 'done trusted' : 'done').toBe(expected);
  } else if (decision.step === 'challenge') {
    expect(challenge(...decision.factors)).toBe(expected);
  } else if (decision.step === 'enroll') {
    if (decision.until) expect(decision.until.getTime()).toBeGreaterThan(provider.now().getTime());
    expect(enroll(decision.until ? 'grace' : 'now', ...decision.factors)).toBe(expected);
  } else {
    expect(decision.step).toBe(expected);
  }
});

test('a factor that the Environment does not allow is asked for once, of a person who is also in production and whom a provider named', async () => {
  const environment = await provider.newEnvironment();
  const ana = await environment.newIdentity();
  await enrollTotp(provider, environment, ana);
  await (await newOther(provider, environment, { type: 'production' })).join(ana.id);
  await provider.query(
    `update environment_settings set mfa_allowed_factors = '{email_otp}' where environment_id = $1`,
    [environment.environmentId],
  );
  const client = await provider.provider.clients.find((await environment.newClient()).clientId);
  if (!client) throw new Error('no client');
  const decide = async (given: Partial<FirstFactor>) => {
    const first = { ...password, authenticatedAt: at, identityId: ana.id, ...given };
    const decision = await provider.logins.gate.decide({ client, first, device: null, requiresAal2: true });
    return decision.step === 'challenge' ? challenge(...decision.factors) : decision.step;
  };
  expect(await decide({})).toBe(done);
  const byProvider = { method: 'sso', ssoConnectionId: crypto.randomUUID() } as const;
  expect(await decide(byProvider)).toBe(challenge('totp', 'recovery_code'));
  expect(await decide({ ...byProvider, method: 'session', ownFactorAt: at })).toBe(done);
});

test('recovery codes without a factor are not asked for', async () => {
  const { ana, question } = await decide({ policy: 'required', has: ['totp'] });
  await provider.query('delete from mfa_factors where identity_id = $1', [ana.id]);
  for (const requiresAal2 of [false, true]) {
    expect(await provider.logins.gate.decide({ ...question(), requiresAal2 })).toMatchObject({ step: 'enroll' });
  }
});

test('the grace begins with the first sign-in, and its end refuses until an admin resets it', async () => {
  const { decision, scope, ana, question } = await decide({ policy: 'required' });
  if (decision.step !== 'enroll' || !decision.until) throw new Error(decision.step);
  expect(decision.until).toEqual(new Date(provider.now().getTime() + days(7)));
  const [started] = await provider.query<{ count: string }>(
    `select count(*) from outbox where input ->> 'identityId' = $1 and input ->> 'news' = 'reset'`,
    [ana.id],
  );
  expect(started?.count).toBe('1'); // the workflow starts from here
  provider.wait(days(6));
  expect(await provider.logins.gate.decide(question())).toEqual(decision);
  provider.wait(days(1));
  expect(await provider.logins.gate.decide(question())).toEqual({ step: 'refused' });
  const asSession = { ...question(), first: { ...question().first, method: 'session' as const } };
  expect(await provider.logins.gate.decide(asSession)).toEqual({ step: 'refused' });
  await provider.logins.mfaReset(scope, ana.id);
  expect(await provider.logins.gate.decide(question())).toMatchObject({ step: 'enroll' });
});

test('requesting aal2 is no way around a grace that is over', async () => {
  const { question } = await decide({ policy: 'required' });
  provider.wait(days(8));
  expect(await provider.logins.gate.decide({ ...question(), requiresAal2: true })).toEqual({ step: 'refused' });
});

describe('a person who enrolled in time, a month ago,', () => {
  async function enrolled() {
    const { scope, ana, question } = await decide({ policy: 'required' });
    const totp = await enrollTotp(provider, scope, ana);
    provider.wait(days(30));
    const [grace] = await provider.query('select status from mfa_graces where identity_id = $1', [ana.id]);
    expect(grace).toEqual({ status: 'enrolled' });
    const asked = async (more: Partial<ReturnType<typeof question>> = {}) => {
      const { client, ...rest } = question();
      const read = await provider.provider.clients.find(client.clientId);
      return provider.logins.gate.decide({ ...rest, client: read ?? client, ...more });
    };
    const allow = (allowed: FactorKind[]) =>
      provider.query('update environment_settings set mfa_allowed_factors = $2 where environment_id = $1', [
        scope.environmentId,
        allowed,
      ]);
    return { scope, ana, totp, asked, allow };
  }

  test('uses a factor that is not allowed any more and enrolls another one, without a deadline', async () => {
    const { asked, allow } = await enrolled();
    await allow(['webauthn', 'recovery_code']);
    const left = { step: 'challenge', factors: ['totp', 'recovery_code'] };
    expect(await asked()).toEqual(left);
    expect(await asked({ requiresAal2: true })).toEqual(left);
    const next = { step: 'enroll', factors: ['webauthn'], until: null };
    expect(await asked({ hasProvedFactor: true })).toEqual(next);
  });

  test.each(['of their own', 'before that'])(
    'has a new grace if no policy required MFA meanwhile and the factor was removed %s',
    async (when) => {
      const { scope, ana, asked } = await enrolled();
      const graces = createMfaGraces({ db: provider.db, now: provider.now, reminders: [] });
      const require = (required: boolean) =>
        provider.db.transaction(scope, async (tx) => {
          await tx.query('update environment_settings set mfa_policy = $2 where environment_id = $1', [
            scope.environmentId,
            required ? 'required' : 'optional',
          ]);
          await graces.policyChanged(tx, scope, { required, days: 7 });
        });
      if (when === 'before that') await provider.query('delete from mfa_factors where identity_id = $1', [ana.id]);
      expect(await asked()).toEqual(
        when === 'before that'
          ? { step: 'refused' }
          : { step: 'challenge', factors: ['totp', 'email_otp', 'recovery_code'] },
      );
      await require(false);
      if (when === 'of their own') {
        const person = await signedInStrongly(provider, scope, ana.id);
        const [factor] = await provider.logins.factors.list(scope, ana.id);
        await provider.logins.factors.remove(person, factor!.id);
      }
      provider.wait(days(30));
      await require(true);
      const until = new Date(provider.now().getTime() + days(7));
      expect(await asked()).toEqual({ step: 'enroll', factors: ['totp', 'webauthn', 'email_otp'], until });
    },
  );
});
