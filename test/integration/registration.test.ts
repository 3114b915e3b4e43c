import { v7 as uuidv7 } from 'uuid';
import { saveUser } from '../../src/domain/administrator-invites/join.js';
import { provision } from '../../src/domain/registration/provision.js';
import { hours, minutes } from '../../src/platform/clock.js';
import { mails } from '../../src/platform/metrics/metrics.js';
import { newDatabase, rowsAsOwner, type TestDatabase } from '../support/database.js';
import { aRequest, registrationServices } from '../support/registration.js';
import { statementsOf } from '../support/statements.js';
import { comingUpon } from '../support/uncommitted.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await newDatabase({ poolSize: 10 });
});
afterAll(() => database.close());

const select = (text: string, ...values: unknown[]) => rowsAsOwner(database.ownerUrl, text, values);
const row = async (id: string) => (await select('select * from pending_registrations where id = $1', id))[0]!;
const eventsOf = async (id: string) =>
  (await select('select action from events where resource_id = $1 order by created_at', id)).map(
    ({ action }) => action,
  );
const personal = ['email', 'password_hash', 'first_name', 'last_name', 'account_name', 'application_name'];
const expectScrubbed = (registration: Record<string, unknown>) => {
  for (const column of personal) expect([column, registration[column]]).toEqual([column, null]);
};

test('a new address is parked with its process, and nothing of its link is stored', async () => {
  const services = registrationServices(database);
  const { id, request } = await services.park();
  const registration = await row(id);
  expect(registration).toMatchObject({ email: request.email, status: 'pending', user_id: null });
  const [message] = await select(`select process, input from outbox where input->>'pendingRegistrationId' = $1`, id);
  const { expires_at: expiresAt, created_at: createdAt } = registration as { expires_at: Date; created_at: Date };
  expect(expiresAt.getTime() - createdAt.getTime()).toBe(hours(24));
  expect(message).toEqual({
    process: 'registrationVerification',
    input: {
      pendingRegistrationId: id,
      expiresAt: expiresAt.toISOString(),
      reminderAt: new Date(createdAt.getTime() + hours(20)).toISOString(),
    },
  });
  const everything = JSON.stringify([
    registration,
    message,
    await select('select * from emails where subject_id = $1', id),
  ]);
  expect(everything).not.toContain(services.tokenOf(id));
  expect(await eventsOf(id)).toEqual(['auth.registration_requested']);
});

test('a known address gets a mail that says so, keeps its User, and costs as many statements', async () => {
  const services = registrationServices(database);
  const { id, request } = await services.park();
  const count = await statementsOf(() => services.registrations.park(aRequest()));
  const { userId } = await services.registrations.provision(id);
  const again = aRequest({ email: request.email.toUpperCase(), accountName: 'Second' });
  expect(await statementsOf(() => services.registrations.park(again))).toBe(count);

  const [intent] = await select('select * from account_intents where user_id = $1', userId);
  expect(intent).toMatchObject({ status: 'parked', account_name: 'Second' });
  const [email] = await select('select * from emails where subject_id = $1', intent!.id);
  expect(email).toMatchObject({ template: 'registration-known-address', status: 'pending' });
  expect(await select('select from pending_registrations where email = $1', again.email)).toEqual([]);
  await services.emails.send(email!.id as string);
  expect(services.sent).toMatchObject([
    { to: request.email, values: { account_name: 'Second', first_name: 'Ana', link: null } },
  ]);
});

test('a link finds its registration until it has expired, whatever the row says', async () => {
  const services = registrationServices(database);
  const { id, request } = await services.park();
  const token = services.tokenOf(id);
  expect(await services.registrations.find(token)).toMatchObject({
    id,
    status: 'pending',
    accountName: request.accountName,
  });
  services.moveClock(hours(24) + 1);
  expect(await services.registrations.find(token)).toMatchObject({ id, status: 'expired' });
  expect(await row(id)).toMatchObject({ status: 'pending' });
  expect(await services.registrations.find('unknown')).toBeNull();
});

test('expiring takes effect once, only when due, and deletes the personal data', async () => {
  const services = registrationServices(database);
  const { id } = await services.park();
  expect(await services.registrations.expire(id)).toBe('pending');
  services.moveClock(hours(24));
  const both = await Promise.all([services.registrations.expire(id), services.registrations.expire(id)]);
  expect(both).toEqual(['expired', 'expired']);
  expectScrubbed(await row(id));
  expect(await eventsOf(id)).toEqual(['auth.registration_requested', 'auth.registration_expired']);
  await expect(services.registrations.provision(id)).rejects.toMatchObject({ code: 'registration.link_invalid' });
});

test('cancelling takes effect once, with its reason, and deletes the personal data', async () => {
  const services = registrationServices(database);
  const { id } = await services.park();
  expect(await services.registrations.cancel(id, 'cancelled_by_operator')).toBe('cancelled');
  expect(await services.registrations.cancel(id, 'cancelled_by_operator')).toBe('cancelled');
  const registration = await row(id);
  expect(registration).toMatchObject({ status: 'cancelled', ended_reason: 'cancelled_by_operator' });
  expectScrubbed(registration);
  expect(await eventsOf(id)).toEqual(['auth.registration_requested', 'auth.registration_cancelled']);
});

test('a registration that was confirmed can be neither expired nor cancelled', async () => {
  const services = registrationServices(database);
  const { id } = await services.park();
  await services.registrations.provision(id);
  services.moveClock(hours(48));
  expect(await services.registrations.expire(id)).toBe('confirmed');
  expect(await services.registrations.cancel(id, 'late')).toBe('confirmed');
});

test('a link that is confirmed again after its application was deleted does not work any more', async () => {
  const services = registrationServices(database);
  const { id } = await services.park();
  const { accountId } = await services.registrations.provision(id);
  await select('delete from applications where account_id = $1', accountId);
  await expect(services.registrations.provision(id)).rejects.toMatchObject({ code: 'registration.link_invalid' });
});

test('an expired link provisions nothing even if no worker has noticed', async () => {
  const services = registrationServices(database);
  const { id, request } = await services.park();
  services.moveClock(hours(24));
  await expect(services.registrations.provision(id)).rejects.toMatchObject({ code: 'registration.link_invalid' });
  expect(await select('select from users where email = $1', request.email)).toEqual([]);
});

test('the mails contain the working link, the reminder the same one', async () => {
  const services = registrationServices(database);
  const { id, request } = await services.park();
  expect(await services.registrations.queueVerificationEmail(id)).toBe('pending');
  services.moveClock(hours(20) + minutes(1));
  expect(await services.registrations.queueReminderEmail(id)).toBe('pending');
  const mails = await select('select id from emails where subject_id = $1 order by created_at', id);
  for (const mail of mails) await services.emails.send(mail.id as string);
  const link = `https://id.example.com/v1/auth/verify-email?token=${services.tokenOf(id)}`;
  expect(services.sent).toMatchObject([
    { name: 'registration-verification', to: request.email, values: { link } },
    { name: 'registration-reminder', to: request.email, values: { link, hours_left: 4 } },
  ]);
  expect(services.sent[0]?.values.expires_at_text).toMatch(/UTC$/);
});

test('requesting the mails again sends none twice', async () => {
  const services = registrationServices(database);
  const { id } = await services.park();
  await Promise.all([1, 2, 3].map(() => services.registrations.queueVerificationEmail(id)));
  expect(await select('select from emails where subject_id = $1', id)).toHaveLength(1);
});

test('a registration that has ended requests no mail', async () => {
  const services = registrationServices(database);
  const { id } = await services.park();
  await services.registrations.cancel(id, 'cancelled_by_operator');
  expect(await services.registrations.queueVerificationEmail(id)).toBe('cancelled');
  expect(await select(`select from outbox where process = 'emailDelivery' and input->>'subjectId' = $1`, id)).toEqual(
    [],
  );
});

describe('a mail that nobody has asked for yet is cancelled with what it is about', () => {
  const mailOf = async (id: string) =>
    (await select('select status, failure, ended_at is not null as is_over from emails where subject_id = $1', id))[0];
  const cancelled = { status: 'cancelled', failure: 'nothing to send any more', is_over: true };
  const counted = async () =>
    (await mails.get()).values.find(({ labels }) => labels.status === 'cancelled')?.value ?? 0;

  test.each(['decline', 'cancel', 'expire'] as const)('%s of a registration', async (verb) => {
    const services = registrationServices(database);
    const { id } = await services.park();
    services.moveClock(hours(24));
    const before = await counted();
    await services.registrations[verb](id, 'for_a_reason');
    expect(await mailOf(id)).toEqual(cancelled);
    expect(await counted()).toBe(before + 1);
    await services.registrations.queueVerificationEmail(id);
    expect(await mailOf(id)).toEqual(cancelled);
  });

  test('the other registrations of an address that was confirmed', async () => {
    const services = registrationServices(database);
    const { id, request } = await services.park();
    const rival = await services.park({ email: request.email });
    await services.registrations.provision(id);
    expect(await mailOf(rival.id)).toEqual(cancelled);
  });

  test('an intent to create an account, expired or discarded', async () => {
    const services = registrationServices(database);
    const { id, request } = await services.park();
    const { userId } = await services.registrations.provision(id);
    const park = async () => {
      await services.registrations.park(aRequest({ email: request.email }));
      const parked = `select id from account_intents where user_id = $1 and status = 'parked'`;
      return (await select(parked, userId))[0]?.id as string;
    };
    const discarded = await park();
    expect(await services.accountIntents.discardAll(userId)).toEqual([discarded]);
    const expired = await park();
    services.moveClock(hours(24));
    expect(await services.accountIntents.expire(expired)).toBe('expired');
    expect([await mailOf(discarded), await mailOf(expired)]).toEqual([cancelled, cancelled]);
  });
});

describe('nothing is left that waits for a taken address', () => {
  const waiting = (email: string) =>
    select(`select id from pending_registrations where status = 'pending' and email = $1`, email);

  test('if it is registered while its first registration is confirmed: that mail says that there is an account', async () => {
    const services = registrationServices(database);
    const { id, request } = await services.park();
    const confirm = (tx: Parameters<typeof provision>[0]) => provision(tx, id, services.now());
    const again = aRequest({ email: request.email.toUpperCase() });
    await comingUpon(database, confirm, () => services.registrations.park(again));
    expect(await waiting(request.email)).toEqual([]);
    const [intent] = await select('select * from account_intents where account_name = $1', again.accountName);
    expect(intent).toMatchObject({ status: 'parked', user_id: (await row(id)).user_id });
  });

  test('if an invited person becomes an administrator: their process is told', async () => {
    const services = registrationServices(database);
    const { id, request } = await services.park();
    const [userId, now] = [uuidv7(), services.now()];
    const { email } = request;
    const names = { firstName: 'Ana', lastName: 'Kovač' };
    const joining = (tx: Parameters<typeof saveUser>[0]) =>
      saveUser(tx, userId, { email, user: null, names, passwordHash: null, now });
    await comingUpon(database, joining, () => services.registrations.park(aRequest({ email })));
    expect(await waiting(email)).toEqual([]);
    const registration = await row(id);
    expect(registration).toMatchObject({ status: 'discarded', ended_reason: 'address_has_a_user', user_id: userId });
    expectScrubbed(registration);
    const told = await select(
      `select input from outbox where input->>'pendingRegistrationId' = $1 order by due_at`,
      id,
    );
    expect(told.map(({ input }) => (input as { news?: string }).news)).toEqual([undefined, 'discarded']);
    await expect(services.registrations.provision(id)).rejects.toMatchObject({ code: 'registration.link_invalid' });
  });
});
