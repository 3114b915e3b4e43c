import { randomUUID } from 'node:crypto';
import { AccountIntent } from '../../../entities/account-intent.js';
import { Email } from '../../../entities/email.js';
import { Event } from '../../../entities/event.js';
import { User } from '../../../entities/user.js';
import { endIntent } from '../../../src/domain/account-intents/end.js';
import { createAccountRetryByOperator } from '../../../src/domain/account-intents/retry.js';
import { DomainError } from '../../../src/domain/errors.js';
import { hours } from '../../../src/platform/clock.js';
import { accountIntentId } from '../../../workflows/ids.js';
import { type AdminAuth, bearer, newAdminAuth } from '../../support/admin-auth.js';
import { comingUpon } from '../../support/uncommitted.js';

let auth: AdminAuth;
beforeAll(async () => {
  auth = await newAdminAuth();
});
afterAll(() => auth.close());

const path = '/accounts/resume';
let count = 0;
/** Signs a user in, for whose address a second registration is parked. */
async function withParked(at = auth, { times = 1 } = {}) {
  const user = await at.addUser({ accounts: [] });
  const headers = bearer((await at.sessionOf(user.id)).accessToken);
  const wishes: string[] = [];
  for (let i = 0; i < times; i++) wishes.push(await park(user.email, at));
  return { user, headers, wishes };
}
async function park(email: string, at = auth) {
  count += 1;
  const body = { email, password: 'violet tractor 19', first_name: 'A', last_name: 'B', application_name: 'Shop' };
  const name = `Wish ${count}`;
  expect((await at.post('/register', { ...body, account_name: name })).statusCode).toBe(201);
  return name;
}
const intentsOf = (userId: string, at = auth) =>
  at.db.transaction('system', (tx) => tx.find(AccountIntent, { where: { userId }, order: { id: 'asc' } }));
/** Returns the events of an intent since the registration that parked it. */
const eventsOf = async (resourceId: string) =>
  (await auth.db.transaction('system', (tx) => tx.find(Event, { where: { resourceId }, order: { id: 'asc' } }))).slice(
    1,
  );
const accountsOf = async (headers: Record<string, string>, at = auth) =>
  ((await at.get('/me', headers)).json().data.accounts as { name: string }[]).map(({ name }) => name);
const outcome = ({ statusCode, body }: { statusCode: number; body: string }) =>
  `${statusCode} ${body ? (JSON.parse(body).error?.code ?? 'ok') : ''}`.trim();
const notFound = '404 account_intent.not_found';

test('the intent that a registration parked can be read, and resumed once', async () => {
  const { user, headers, wishes } = await withParked();
  expect((await auth.get(path, headers)).json()).toEqual({
    data: { account_name: wishes[0], application_name: 'Shop' },
  });
  const answer = await auth.post(path, undefined, headers);
  expect(answer.statusCode).toBe(201);
  expect(answer.json().data).toMatchObject({
    token_type: 'Bearer',
    user: { id: user.id },
    account: { name: wishes[0] },
    application: { name: 'Shop' },
  });
  expect(answer.cookies.map(({ name }) => name)).toEqual(['admin_refresh', 'admin_session']);
  const me = await auth.get('/me', bearer(answer.json().data.access_token));
  expect(me.json().data).toMatchObject({ account: { name: wishes[0] }, application: { name: 'Shop' } });
  const accountId = answer.json().data.account.id;
  const intents = await intentsOf(user.id);
  expect(intents).toMatchObject([{ status: 'consumed', accountId, endedReason: null }]);
  const told = { action: 'auth.account_intent_consumed', actorId: user.id, accountId };
  expect(await eventsOf(intents[0]!.id)).toMatchObject([told]);
  for (const method of ['GET', 'POST'] as const) {
    expect(outcome(await auth.app.inject({ method, url: `/v1/auth${path}`, headers }))).toBe(notFound);
  }
});

test('without an own parked intent reading is 404, and discarding still 204', async () => {
  const { headers: stranger } = { headers: bearer((await auth.sessionOf((await auth.addUser()).id)).accessToken) };
  const { headers, wishes } = await withParked();
  expect(outcome(await auth.get(path, stranger))).toBe(notFound);
  expect(outcome(await auth.post(path, undefined, stranger))).toBe(notFound);
  expect(outcome(await auth.delete(path, stranger))).toBe('204');
  expect((await auth.get(path, headers)).json().data.account_name).toBe(wishes[0]);
});

test('a user discards all of their parked intents, and the rows say so', async () => {
  const { user, headers } = await withParked(auth, { times: 2 });
  for (let i = 0; i < 2; i++) expect(outcome(await auth.delete(path, headers))).toBe('204');
  expect(outcome(await auth.get(path, headers))).toBe(notFound);
  expect(outcome(await auth.post(path, undefined, headers))).toBe(notFound);
  const over = { status: 'discarded', endedReason: 'discarded_by_its_owner' };
  const intents = await intentsOf(user.id);
  expect(intents).toMatchObject([over, over]);
  const told = { action: 'auth.account_intent_discarded', actorId: user.id, metadata: { reason: over.endedReason } };
  for (const { id } of intents) expect(await eventsOf(id)).toMatchObject([told]);
  expect(await accountsOf(headers)).toEqual([]);
});

test('an expired intent is 404, whether or not a worker has noticed', async () => {
  const own = await newAdminAuth();
  try {
    const { user } = await withParked(own);
    own.pass(hours(24));
    const headers = bearer((await own.sessionOf(user.id)).accessToken);
    expect(outcome(await own.get(path, headers))).toBe(notFound);
    expect(outcome(await own.post(path, undefined, headers))).toBe(notFound);
    const [intent] = await intentsOf(user.id, own);
    expect(intent?.status).toBe('parked');
    expect(await own.accountIntents.claim(intent!.id, user.id)).toEqual({ mine: false, status: 'expired' });
    expect(await own.accountIntents.expire(intent!.id)).toBe('expired');
    expect(outcome(await own.delete(path, headers))).toBe('204');
  } finally {
    await own.close();
  }
});

test('of several intents the newest is resumed, and that ends the older ones', async () => {
  const { user, headers, wishes } = await withParked(auth, { times: 3 });
  expect((await auth.get(path, headers)).json().data.account_name).toBe(wishes[2]);
  expect((await auth.post(path, undefined, headers)).json().data.account.name).toBe(wishes[2]);
  expect(await intentsOf(user.id)).toMatchObject([
    { status: 'discarded', endedReason: 'superseded' },
    { status: 'discarded', endedReason: 'superseded' },
    { status: 'consumed' },
  ]);
  expect(outcome(await auth.get(path, headers))).toBe(notFound);
});

test('twenty resumes at once create one Account: one caller gets it, the others 404', async () => {
  const { headers, wishes } = await withParked(auth, { times: 3 });
  const answers = await Promise.all(Array.from({ length: 20 }, () => auth.post(path, undefined, headers)));
  const outcomes = answers.map(outcome).sort();
  expect(outcomes).toEqual(['201 ok', ...Array.from({ length: 19 }, () => notFound)]);
  expect(await accountsOf(headers)).toEqual([wishes[2]]);
});

describe('a retry with the same Idempotency-Key', () => {
  test('gets the same answer, and only in the same session', async () => {
    const { headers, wishes } = await withParked();
    const keyed = { ...headers, 'idempotency-key': `retry-${count}` };
    const first = await auth.post(path, undefined, keyed);
    const again = await auth.post(path, undefined, keyed);
    expect([again.statusCode, again.body, again.headers['set-cookie']]).toEqual([
      201,
      first.body,
      first.headers['set-cookie'],
    ]);
    expect(outcome(await auth.post(path, undefined, { ...headers, 'idempotency-key': 'another' }))).toBe(notFound);
    expect(await accountsOf(headers)).toEqual(wishes);
  });

  test('whose answer was lost with its process gets the same Account, and does not resume an older intent', async () => {
    const { user, headers, wishes } = await withParked(auth, { times: 2 });
    const keyed = { ...headers, 'idempotency-key': `lost-${count}` };
    await auth.post(path, undefined, keyed);
    await auth.db.transaction('system', (tx) =>
      // If an older intent is still parked, it must not be taken for this request's.
      tx.update(AccountIntent, { userId: user.id, status: 'discarded' }, { status: 'parked' }),
    );
    await auth.db.statement({ name: 'lose', text: 'delete from idempotent_requests where key = $1 returning 1' }, [
      `lost-${count}`,
    ]);
    const again = await auth.post(path, undefined, keyed);
    expect([again.statusCode, again.json().data.account.name]).toEqual([201, wishes[1]]);
    expect(await accountsOf(headers)).toEqual([wishes[1]]);
  });

  test('after a 503 continues the intent that was claimed', async () => {
    let away = true;
    const own: AdminAuth = await newAdminAuth({
      resumeAccountIntent: async ({ intentId }, claimId) => {
        const claim = await own.accountIntents.claim(intentId, claimId);
        if (!claim.mine) throw new DomainError('account_intent.not_found');
        if (away) throw new DomainError('service.unavailable', { retryAfter: 5 });
        return own.accountIntents.provision(intentId);
      },
    });
    try {
      const { headers, wishes } = await withParked(own);
      const keyed = { ...headers, 'idempotency-key': 'a' };
      const first = await own.post(path, undefined, keyed);
      expect([outcome(first), first.headers['retry-after']]).toEqual(['503 service.unavailable', '5']);
      expect(outcome(await own.get(path, headers))).toBe(notFound); // it is claimed
      expect(outcome(await own.post(path, undefined, headers))).toBe(notFound);
      away = false;
      expect(outcome(await own.post(path, undefined, keyed))).toBe('201 ok');
      expect(await accountsOf(headers, own)).toEqual(wishes);
    } finally {
      await own.close();
    }
  });

  test('while its process is still at work gets a “try again”', async () => {
    const own: AdminAuth = await newAdminAuth({
      resumeAccountIntent: async ({ intentId }, claimId) => {
        await own.accountIntents.claim(intentId, claimId);
        throw new DomainError('account_intent.not_found'); // the process refuses a second resume meanwhile
      },
    });
    try {
      const { headers } = await withParked(own);
      const keyed = { ...headers, 'idempotency-key': 'a' };
      expect(outcome(await own.post(path, undefined, keyed))).toBe('503 service.unavailable');
    } finally {
      await own.close();
    }
  });

  test('while its process is at work for another request gets a “try again”, and not a 404', async () => {
    const own: AdminAuth = await newAdminAuth({
      resumeAccountIntent: async () => {
        throw new DomainError('account_intent.not_found'); // busy with a claim that hangs
      },
    });
    try {
      const { headers } = await withParked(own);
      expect(outcome(await own.post(path, undefined, headers))).toBe('503 service.unavailable');
    } finally {
      await own.close();
    }
  });
});

describe('a short name that was taken meanwhile', () => {
  /** Parks an intent under a short name that another Account then takes. */
  async function taken() {
    const user = await auth.addUser({ password: null, accounts: [] });
    const headers = bearer((await auth.sessionOf(user.id)).accessToken);
    count += 1;
    const slug = `wanted-${count}`;
    const body = { account_name: `Wanted ${count}`, application_name: 'Shop', account_slug: slug };
    expect(outcome(await auth.post('/accounts', body, headers))).toBe('403 account.password_required');
    const other = await auth.addUser({ accounts: [] });
    const others = bearer((await auth.sessionOf(other.id)).accessToken);
    expect(outcome(await auth.post('/accounts', body, others))).toBe('201 ok');
    await auth.db.transaction('system', (tx) => tx.update(User, { id: user.id }, { passwordHash: 'set since' }));
    const [intent] = await intentsOf(user.id);
    return { user, headers, slug, intent: intent as AccountIntent };
  }

  test('fails the intent, with the reason in the row and a mail; nothing is left half done', async () => {
    const { user, headers, intent } = await taken();
    const keyed = { ...headers, 'idempotency-key': `taken-${count}` };
    expect(outcome(await auth.post(path, undefined, keyed))).toBe('409 account.slug_taken');
    expect(await intentsOf(user.id)).toMatchObject([
      { status: 'failed', endedReason: 'account.slug_taken', accountId: null },
    ]);
    expect(await accountsOf(headers)).toEqual([]);
    expect(outcome(await auth.get(path, headers))).toBe(notFound);
    const mails = await auth.db.transaction('system', (tx) =>
      tx.findBy(Email, { subjectId: intent.id, template: 'account-creation-failed' }),
    );
    expect(mails).toHaveLength(1);
    const [event] = await auth.db.transaction('system', (tx) =>
      tx.findBy(Event, { resourceId: intent.id, action: 'auth.account_intent_failed' }),
    );
    expect(event).toMatchObject({ outcome: 'failure', metadata: { reason: 'account.slug_taken' } });
    // The same request gets the same answer, whether or not it was stored.
    expect(outcome(await auth.post(path, undefined, keyed))).toBe('409 account.slug_taken');
    await auth.db.statement({ name: 'lose', text: 'delete from idempotent_requests where key = $1 returning 1' }, [
      keyed['idempotency-key'],
    ]);
    expect(outcome(await auth.post(path, undefined, keyed))).toBe('409 account.slug_taken');
  });

  test('can be given up after support has retried the intent', async () => {
    const { user, headers, slug, intent } = await taken();
    await expect(auth.accountIntents.retry(intent.id)).rejects.toMatchObject({ code: 'account_intent.not_failed' });
    await auth.post(path, undefined, headers);
    await auth.accountIntents.retry(intent.id);
    expect(await intentsOf(user.id)).toMatchObject([{ status: 'claimed', accountSlug: null, endedReason: null }]);
    const made = await auth.accountIntents.provision(intent.id);
    expect(await auth.accountIntents.provision(intent.id)).toEqual(made);
    expect(await auth.accountIntents.fail(intent.id, 'service.unavailable')).toEqual(made); // too late
    const { accounts } = (await auth.get('/me', headers)).json().data;
    expect(accounts).toHaveLength(1);
    expect(accounts[0].slug).not.toBe(slug);
  });

  test('is resolved when support names another one', async () => {
    const { headers, intent } = await taken();
    await auth.post(path, undefined, headers);
    await auth.accountIntents.retry(intent.id, { accountSlug: `by-support-${count}` });
    await auth.accountIntents.provision(intent.id);
    const { accounts } = (await auth.get('/me', headers)).json().data;
    expect(accounts).toMatchObject([{ slug: `by-support-${count}` }]);
  });

  test('is resolved by the operators’ command, which accepts the id from the row or from Temporal', async () => {
    const retried = createAccountRetryByOperator(auth);
    const { user, headers, intent } = await taken();
    expect(await retried(intent.id)).toBe('not_failed');
    for (const named of [intent.id, accountIntentId(intent.id)]) {
      await auth.post(path, undefined, headers);
      await auth.db.transaction('system', (tx) =>
        tx.update(AccountIntent, { id: intent.id }, { status: 'failed', endedReason: 'account.slug_taken' }),
      );
      expect(await retried(named)).toBe('retried');
      expect(await retried(named)).toBe('not_failed');
    }
    expect(await intentsOf(user.id)).toMatchObject([{ status: 'claimed', endedReason: null }]);
    const told = await auth.db.transaction('system', (tx) =>
      tx.findBy(Event, { resourceId: intent.id, action: 'auth.account_intent_retried' }),
    );
    const bySystem = { actorType: 'system', actorId: null, outcome: 'success', severity: 'notice' };
    expect(told).toMatchObject([bySystem, bySystem]);
    const starts = {
      name: 'starts',
      text: `select input from outbox where process = 'accountIntent' and input->>'intentId' = $1`,
    };
    expect((await auth.db.statement(starts, [intent.id])).length).toBeGreaterThanOrEqual(1);
    const unknown = '00000000-0000-7000-8000-000000000000';
    for (const named of [unknown, `account-intent/${unknown}`, `invite/${intent.id}`, 'ana@example.com', ''])
      expect(await retried(named)).toBe('not_found');
  });

  test('does not make an unknown intent retriable', async () => {
    const unknown = '00000000-0000-7000-8000-000000000000';
    await expect(auth.accountIntents.retry(unknown)).rejects.toMatchObject({ code: 'account_intent.not_found' });
    await expect(auth.accountIntents.provision(unknown)).rejects.toMatchObject({ code: 'account_intent.not_found' });
    expect(await auth.accountIntents.claim(unknown, unknown)).toEqual({ mine: false, status: 'discarded' });
    expect(await auth.accountIntents.announce(unknown)).toBe('discarded');
    expect(await auth.accountIntents.expire(unknown)).toBe('discarded');
    expect(await auth.accountIntents.fail(unknown, 'service.unavailable')).toBeNull();
    const wish = { accountName: 'Nobody’s', applicationName: 'Shop', locale: 'en' } as const;
    await expect(auth.accountIntents.createNow({ ...wish, userId: unknown, claimId: unknown })).rejects.toMatchObject({
      code: 'auth.invalid_credentials',
    });
  });
});

test('an intent that an operator cancels is over, and says so', async () => {
  const { user, headers } = await withParked();
  const [intent] = await intentsOf(user.id);
  expect(await auth.accountIntents.cancel(intent!.id, 'cancelled_by_operator')).toBe('cancelled');
  expect(await auth.accountIntents.cancel(intent!.id, 'again')).toBe('cancelled');
  expect(await intentsOf(user.id)).toMatchObject([{ status: 'cancelled', endedReason: 'cancelled_by_operator' }]);
  expect(outcome(await auth.post(path, undefined, headers))).toBe(notFound);
});

test('an older intent that ends while a newer one is resumed ends once', async () => {
  const { user } = await withParked(auth, { times: 2 });
  const [older, newer] = (await intentsOf(user.id)).map(({ id }) => id) as [string, string];
  const cancelled = { status: 'cancelled', reason: 'cancelled_by_operator', due: false, now: auth.now() } as const;
  const claim = await comingUpon(
    auth.database,
    (tx) => endIntent(tx, older, cancelled),
    () => auth.accountIntents.claim(newer, randomUUID()),
  );
  expect(claim).toEqual({ mine: true, discardedIds: [] });
  const told = await auth.db.transaction('system', (tx) => tx.findBy(Event, { resourceId: older }));
  expect(told.map(({ action }) => action)).toEqual(['auth.registration_requested', 'auth.account_intent_cancelled']);
});
