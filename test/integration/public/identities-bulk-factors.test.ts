import { randomBytes } from 'node:crypto';
import bcrypt from 'bcrypt';
import { ScureBase32Plugin } from 'otplib';
import { pino } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import { digitsOf } from '../../../src/domain/logins/emailed-codes.js';
import { sealing } from '../../support/administrators.js';
import { newAccount, send, startApi, type TestApi } from '../../support/api.js';
import { bearer, type LoginResult } from '../../support/identity-auth.js';
import { totpCode } from '../../support/mfa.js';
import { Browser } from '../../support/oauth/browser.js';
import { authorizeUrl } from '../../support/oauth/sign-in.js';
import { rowsOf } from '../../support/rows.js';

/** Authenticator apps that people bring along (docs/decisions/0113). */

let api: TestApi;
const logged: string[] = [];
beforeAll(async () => {
  api = await startApi({}, pino({ level: 'trace' }, { write: (line: string) => void logged.push(line) }));
});
afterAll(() => api.stop());

const password = 'imported secret';
const hash = bcrypt.hash(password, 4);
const newSecret = () => new ScureBase32Plugin().encode(randomBytes(20));
const address = () => `${uuidv7()}@example.com`;

interface Item {
  status: string;
  id: string;
  joined: boolean;
  error: { code: string; message: string; details?: { field: string; code: string; message: string }[] } | null;
}

/** Returns an Account whose development Environment has these settings, with an API key and a client. */
async function newPlace(settings: { policy?: string; factors?: string[]; emailCodes?: boolean } = {}) {
  const account = await newAccount(api);
  const key = await account.apiKey();
  const { policy = 'required', factors = ['totp', 'webauthn', 'recovery_code'], emailCodes = false } = settings;
  await rowsOf(
    api,
    `update environment_settings set mfa_policy = $2, mfa_allowed_factors = $3, email_otp_login_enabled = $4
     where environment_id = $1`,
    [account.scope.environmentId, policy, factors, emailCodes],
  );
  const client = { name: 'Shop', client_type: 'public', redirect_uris: ['https://shop.example/cb'] };
  const creating = { url: account.portalPath('/oauth-clients'), headers: await account.as('owner'), payload: client };
  const { client_id: clientId } = (await send(api.app, 201, { method: 'POST', ...creating })).json().data;
  const get = async (path: string) => (await send(api.app, 200, { url: `/api/v1${path}`, headers: key })).json();
  return {
    account,
    clientId: clientId as string,
    get,
    bulk: (identities: object[], headers: Record<string, string> = {}) => {
      const request = { url: '/api/v1/identities/bulk', headers: { ...key, ...headers }, payload: { identities } };
      return send(api.app, 200, { method: 'POST', ...request });
    },
    mfa: async (id: string) => (await get(`/identities/${id}/mfa`)).data,
    login: (email: string) => identityAuth('/login', { client_id: clientId, email, password }),
  };
}
type Place = Awaited<ReturnType<typeof newPlace>>;

const identityAuth = (path: string, payload: object, headers: Record<string, string> = {}) =>
  api.app.inject({ method: 'POST', url: `/v1/identity/auth${path}`, headers, payload });
const itemsOf = (response: { json(): { items: Item[] } }) => response.json().items;

/** Imports a person with a password and an app. */
async function imported({ bulk }: Place, more: object = {}) {
  const [email, secret] = [address(), newSecret()];
  const person = { email, email_verified: true, password_hash: await hash, mfa_factors: [{ type: 'totp', secret }] };
  const [item] = itemsOf(await bulk([{ ...person, ...more }]));
  expect(item).toMatchObject({ status: 'created', error: null });
  return { id: (item as Item).id, email, secret };
}
async function challengeOf({ login }: Place, email: string) {
  const answer = await login(email);
  expect(answer.statusCode).toBe(200);
  return answer.json().data as LoginResult;
}
const answered = (token: string, code: string) => identityAuth('/mfa/challenge/totp', { challenge_token: token, code });
const eventsOf = (id: string) =>
  rowsOf<{ action: string; actor_type: string; metadata: object }>(
    api,
    'select action, actor_type, metadata from events where resource_id = $1 order by created_at, id',
    [id],
  );

describe('an imported authenticator app', () => {
  test.each(['required', 'optional'])(
    'is asked for at the first sign-in where MFA is %s, and is enough',
    async (policy) => {
      const place = await newPlace({ policy });
      const { email, secret } = await imported(place);
      const { requires_mfa_challenge, mfa_challenge, access_token, ...rest } = await challengeOf(place, email);
      expect({ requires_mfa_challenge, access_token, ...mfa_challenge }).toMatchObject({
        requires_mfa_challenge: true,
        access_token: null,
        available_factors: ['totp'],
      });
      expect(rest).toMatchObject({ mfa_enrollment_pending: false, grace_expires_at: null });
      const code = totpCode(secret, api.clock.now);
      const wrong = await answered(
        mfa_challenge.challenge_token,
        String((Number(code) + 1) % 1_000_000).padStart(6, '0'),
      );
      expect([wrong.statusCode, wrong.json().error.code]).toEqual([401, 'mfa.code_invalid']);
      const right = await answered(mfa_challenge.challenge_token, code);
      expect(right.statusCode).toBe(200);
      const me = await api.app.inject({
        url: '/v1/identity/auth/me',
        headers: bearer(right.json().data.access_token),
      });
      expect(me.json().data.session).toMatchObject({ amr: ['pwd', 'otp', 'mfa'], acr: 'urn:gatehouse:aal2' });
      const again = await challengeOf(place, email);
      expect((await answered(again.mfa_challenge.challenge_token, code)).statusCode).toBe(401); // spent
    },
  );

  test('is shown like any other, without its secret and recovery codes, and told by an event of the importer', async () => {
    const place = await newPlace();
    const [email, secrets] = [address(), [newSecret(), newSecret()]];
    const factors = secrets.map((secret, i) => ({ type: 'totp', secret, ...(i === 0 && { label: 'My phone' }) }));
    const [item] = itemsOf(
      await place.bulk([
        { email, mfa_factors: factors },
        { email: address(), mfa_factors: null },
      ]),
    );
    const { id } = item as Item;
    const shown = await place.mfa(id);
    expect(shown).toEqual({
      factors: ['My phone', 'Authenticator app'].map((label) => ({
        id: expect.any(String),
        type: 'totp',
        label,
        enrolled_at: api.clock.now.toISOString(),
        last_used_at: null,
        signs_in: false,
      })),
      recovery_codes_generation: 0,
      recovery_codes_remaining: 0,
      mfa_admin_reset_at: null,
    });
    expect((await place.get(`/identities/${id}/auth-state`)).data.mfa_enrolled).toBe(true);
    expect((await place.get('/identities/summary')).data).toMatchObject({ total: 2, mfa_enrolled: 1 });
    expect(await eventsOf(id)).toEqual([
      { action: 'identity.created', actor_type: 'api_key', metadata: { joined: false } },
      ...shown.factors.map((factor: { id: string }) => ({
        action: 'identity.mfa_enrolled',
        actor_type: 'api_key',
        metadata: { factor_id: factor.id, factor: 'totp' },
      })),
    ]);
    expect(await rowsOf(api, 'select from emails where account_id = $1', [place.account.scope.accountId])).toEqual([]);
  });

  test('is stored encrypted, and its secret is nowhere else: neither in an answer, a log nor a row', async () => {
    const place = await newPlace();
    const secret = newSecret();
    const bad = { type: 'totp', secret, digits: 8 };
    const people = [
      { email: address(), mfa_factors: [{ type: 'totp', secret }] },
      { email: address(), mfa_factors: [bad] },
      { email: address(), mfa_factors: [{ type: 'totp', secret: `${secret}!` }] },
      { email: address(), mfa_factors: [{ type: 'totp', secret, algorithm: secret, period: secret }] },
    ];
    const answer = await place.bulk(people, { 'idempotency-key': uuidv7() });
    expect(itemsOf(answer).map(({ status }) => status)).toEqual(['created', 'failed', 'failed', 'failed']);
    expect(answer.body).not.toContain(secret);
    expect(logged.join('')).not.toContain(secret);
    const looks = await rowsOf<{ look: string }>(
      api,
      `select format('select %L as place from %I t where t::text like %L', table_name, table_name, '%' || $1::text || '%') as look
       from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`,
      [secret],
    );
    expect(looks.length).toBeGreaterThan(50);
    expect(await rowsOf(api, looks.map(({ look }) => look).join(' union all '))).toEqual([]);
    const rows = await rowsOf<{ sealed: string }>(
      api,
      'select secret as sealed from mfa_factors where account_id = $1',
      [place.account.scope.accountId],
    );
    expect(rows).toEqual([{ sealed: expect.stringMatching(/^test\.[\w-]{38,}$/) }]);
  });

  test('comes without recovery codes, which its owner makes after a sign-in with it', async () => {
    const place = await newPlace();
    const { email, secret, id } = await imported(place);
    const { mfa_challenge } = await challengeOf(place, email);
    const done = await answered(mfa_challenge.challenge_token, totpCode(secret, api.clock.now));
    const made = await identityAuth('/mfa/recovery-codes', {}, bearer(done.json().data.access_token));
    expect([made.statusCode, made.json().data.recovery_codes.length]).toEqual([201, 10]);
    expect(await place.mfa(id)).toMatchObject({ recovery_codes_generation: 1, recovery_codes_remaining: 10 });
  });

  test('goes when somebody else proves an address that nobody had confirmed', async () => {
    const place = await newPlace({ emailCodes: true, policy: 'optional' });
    const { email, id } = await imported(place, { email_verified: false });
    const browser = new Browser(api.app);
    const client = { clientId: place.clientId };
    const form = await browser.get(
      authorizeUrl(client, { method: 'code', redirect_uri: 'https://shop.example/cb', scope: 'openid' }),
    );
    const sent = await browser.submit(form, { email });
    const [row] = await rowsOf<{ id: string }>(api, 'select id from emailed_codes where identity_id = $1', [id]);
    const { digits } = digitsOf(sealing, { id: (row as { id: string }).id });
    const entered = await browser.submit(sent, { code: digits });
    expect([entered.statusCode, entered.headers.location]).toEqual([303, expect.stringContaining('code=')]);
    expect((await place.mfa(id)).factors).toEqual([]);
    expect((await eventsOf(id)).map(({ action }) => action)).toContain('identity.mfa_reset');
  });
});

describe('nothing is weakened', () => {
  test('by an import of somebody who is there: no factor is added to a member, nor to one who joins', async () => {
    const place = await newPlace();
    const { email, id, secret } = await imported(place);
    const more = { mfa_factors: [{ type: 'totp', secret: newSecret(), label: 'A stranger’s' }] };
    const before = await place.mfa(id);
    const fresh = address();
    const items = itemsOf(
      await place.bulk([
        { email, ...more },
        { email: email.toUpperCase(), mfa_factors: [{ type: 'totp', secret }] },
        { email: fresh },
        { email: fresh, ...more },
      ]),
    );
    expect(items.map(({ status }) => status)).toEqual(['exists', 'exists', 'created', 'exists']);
    expect(await place.mfa(id)).toEqual(before);
    expect((await place.mfa((items[2] as Item).id)).factors).toEqual([]);

    const url = place.account.portalPath('/identities/bulk', 'production');
    const joining = { url, headers: await place.account.as('admin'), payload: { identities: [{ email, ...more }] } };
    const joined = itemsOf(await send(api.app, 200, { method: 'POST', ...joining }));
    expect(joined).toMatchObject([{ status: 'created', joined: true, id }]);
    expect(await place.mfa(id)).toEqual(before);
  });

  test('by an app that the service cannot check: it is refused, its person is not created, and the others are', async () => {
    const place = await newPlace();
    const of = (...factors: object[]) => ({
      email: address(),
      mfa_factors: factors.map((factor) => ({ type: 'totp', secret: newSecret(), ...factor })),
    });
    const twice = newSecret();
    const items = itemsOf(
      await place.bulk([
        of({ secret: 'not Base32' }),
        of({ secret: 'JBSWY3DPEHPK3PXP' }),
        of({ secret: 'A'.repeat(128) }),
        of({}, { algorithm: 'SHA256' }),
        of({ digits: 8, period: 60 }),
        of({ secret: twice }, { secret: twice }),
        of({ type: 'hotp' }),
        of({ secret: undefined }),
        of({}, {}, {}, {}, {}, {}),
        of({ counter: 7 }),
        of({ secret: 'A'.repeat(129) }),
        of({ label: 'x\0' }),
        of({ algorithm: 'SHA1', digits: 6, period: 30, label: null }),
      ]),
    );
    const said = items.map(
      ({ error }) => error && [error.code, ...(error.details ?? []).map((d) => `${d.field} ${d.code}`)],
    );
    const invalid = 'validation.failed';
    expect(said).toEqual([
      ['mfa.secret_unreadable', 'identities[0].mfa_factors[0].secret base32'],
      ['mfa.secret_out_of_bounds', 'identities[1].mfa_factors[0].secret secret_length'],
      ['mfa.secret_out_of_bounds', 'identities[2].mfa_factors[0].secret secret_length'],
      ['mfa.parameters_not_supported', 'identities[3].mfa_factors[1].algorithm not_supported'],
      [
        'mfa.parameters_not_supported',
        ...['digits', 'period'].map((name) => `identities[4].mfa_factors[0].${name} not_supported`),
      ],
      ['mfa.already_enrolled', 'identities[5].mfa_factors[1].secret repeated'],
      [invalid, 'identities[6].mfa_factors[0].type enum'],
      [invalid, 'identities[7].mfa_factors[0].secret required'],
      [invalid, 'identities[8].mfa_factors maxItems'],
      [invalid, 'identities[9].mfa_factors[0].counter unknown_field'],
      [invalid, 'identities[10].mfa_factors[0].secret maxLength'],
      [invalid, 'identities[11] unstorable'],
      null,
    ]);
    expect((await place.get('/identities/summary')).data).toMatchObject({ total: 1, mfa_enrolled: 1 });
  });

  test('by an app for one person alone: only the bulk operation takes them, as with hashes', async () => {
    const place = await newPlace();
    const payload = { email: address(), mfa_factors: [{ type: 'totp', secret: newSecret() }] };
    const url = place.account.portalPath('/identities');
    const headers = await place.account.as('admin');
    const refused = await send(api.app, 400, { method: 'POST', url, headers, payload });
    expect(refused.json().error.details).toMatchObject([{ field: 'mfa_factors', code: 'unknown_field' }]);
  });

  test('where an Environment takes no authenticator apps: it would let their owners in without', async () => {
    const place = await newPlace({ factors: ['webauthn', 'recovery_code'] });
    const factors = { mfa_factors: [{ type: 'totp', secret: newSecret() }] };
    const items = itemsOf(
      await place.bulk([
        { email: address(), ...factors },
        { email: address(), mfa_factors: [] },
      ]),
    );
    expect(items.map(({ status, error }) => error?.code ?? status)).toEqual(['mfa.factor_not_allowed', 'created']);
  });

  test('by a retry: the same key gets the same answer, and nobody has an app twice', async () => {
    const place = await newPlace();
    const people = [{ email: address(), mfa_factors: [{ type: 'totp', secret: newSecret() }] }];
    const key = { 'idempotency-key': uuidv7() };
    const [first, again] = [await place.bulk(people, key), await place.bulk(people, key)];
    expect([again.headers['idempotency-replayed'], again.body]).toEqual(['true', first.body]);
    expect((await place.mfa((itemsOf(first)[0] as Item).id)).factors).toHaveLength(1);
  });
});

test('a thousand people with two apps each take few statements', async () => {
  const place = await newPlace();
  const factor = () => ({ type: 'totp', secret: newSecret() });
  const people = Array.from({ length: 1000 }, () => ({ email: address(), mfa_factors: [factor(), factor()] }));
  const { logger } = api.database.db.source;
  const { logQuery } = logger;
  let count = 0;
  logger.logQuery = () => void count++;
  const items = itemsOf(await place.bulk(people).finally(() => (logger.logQuery = logQuery)));
  expect(items.filter(({ status }) => status === 'created')).toHaveLength(1000);
  expect(count).toBeLessThan(40);
  expect((await place.get('/identities/summary')).data.mfa_enrolled).toBe(1000);
});
