import { randomBytes } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { createRoleWindows, type RoleWindows } from '../../src/domain/access/windows/windows.js';
import { createEmails, type Emails } from '../../src/domain/emails/emails.js';
import { days, hours } from '../../src/platform/clock.js';
import { createSealing } from '../../src/platform/crypto/sealing.js';
import type { MailBrand } from '../../src/platform/mail/brand.js';
import { renderEmail } from '../../src/platform/mail/templates.js';
import { mailSubjects } from '../../src/worker/mails.js';
import { newAccount, send, startApi, type TestAccount, type TestApi } from '../support/api.js';
import { rowsOf } from '../support/rows.js';

let api: TestApi;
let account: TestAccount;
let key: Record<string, string>;
let roleId: string;
let nodeId: string;
let windows: RoleWindows;
let emails: Emails;
const sent: { name: string; to: string; locale: 'en' | 'de'; values: never; brand: MailBrand }[] = [];
beforeAll(async () => {
  api = await startApi();
  account = await newAccount(api);
  key = await account.apiKey();
  roleId = (await call('POST', '/roles', 201, { name: 'Editor', permission_keys: [] })).json().data.id;
  nodeId = (await call('POST', '/nodes', 201, { node_type: 'unit', name: 'Berlin' })).json().data.id;
  const { db } = api.database;
  const now = () => api.clock.now;
  windows = createRoleWindows({ db, now, notices: [days(7), days(1)] });
  const sealing = createSealing([{ id: 'k', key: randomBytes(32) }]);
  const subjects = mailSubjects({
    sealing,
    now,
    baseUrl: 'https://id.example.com',
    adminAppUrl: 'https://x.example.com',
  });
  const mailer = {
    async send(name: string, { to, locale, values, brand, messageId }: object & Record<string, unknown>) {
      sent.push({ name, to, locale, values, brand } as never);
      return { messageId: `<${messageId}@test>` };
    },
  };
  emails = createEmails({ db, mailer: mailer as never, subjects, now });
});
afterAll(() => api.stop());
beforeEach(() => {
  sent.length = 0;
});

const call = (method: 'GET' | 'POST' | 'DELETE', path: string, status: number, payload?: object) =>
  send(api.app, status, { method, url: `/api/v1${path}`, headers: key, ...(payload && { payload }) });
const inDays = (count: number) => new Date(api.clock.now.getTime() + days(count)).toISOString();
async function newHolder() {
  const email = `${uuidv7()}@example.com`;
  const { id } = (await call('POST', '/identities', 201, { email, first_name: 'Ana' })).json().data;
  return { id: id as string, email };
}
const assign = async (holder: { id: string }, more: object): Promise<string> => {
  const payload = { role_id: roleId, node_id: nodeId, notify_holder: true, ...more };
  return (await call('POST', `/identities/${holder.id}/role-assignments`, 201, payload)).json().data.assignment_id;
};
/** Sends what waits in the queue of an assignment's mails. */
async function deliver(id: string) {
  const waiting = await rowsOf<{ id: string }>(
    api,
    `select id from emails where status = 'pending' and cause like $1 order by created_at, id`,
    [`role-assignment/${id}/%`],
  );
  for (const mail of waiting) await emails.send(mail.id);
  return sent.map(({ name }) => name);
}
const eventsOf = (id: string) =>
  rowsOf<{ action: string; metadata: object; application_id: string; environment_id: string; account_id: string }>(
    api,
    `select action, metadata, account_id, application_id, environment_id from events
     where resource_id = $1 and action <> 'role_assignment.created' order by id`,
    [id],
  );
const look = async (id: string) => {
  await windows.advance(id);
  return deliver(id);
};

test('the holder gets one mail about each moment, at that moment, that says what and where', async () => {
  const holder = await newHolder();
  const id = await assign(holder, { effective_from: inDays(2), effective_to: inDays(20) });
  expect(await look(id)).toEqual([]);
  api.clock.advance(days(2));
  // Two workers at once, and a repetition after a lost answer.
  await Promise.all([windows.advance(id), windows.advance(id)]);
  expect(await look(id)).toEqual(['role-activated']);
  api.clock.advance(days(11));
  expect(await look(id)).toEqual(['role-activated', 'role-expiring']);
  api.clock.advance(days(6));
  expect(await look(id)).toEqual(['role-activated', 'role-expiring', 'role-expiring']);
  api.clock.advance(days(1));
  expect(await look(id)).toEqual(['role-activated', 'role-expiring', 'role-expiring', 'role-expired']);
  await windows.advance(id);
  expect(await look(id)).toHaveLength(4);
  const told = (await eventsOf(id)).map(({ action }) => action.split('.')[1]);
  expect(told).toEqual(['activated', 'expiring', 'expiring', 'expired']);
  expect(new Set(sent.map(({ to }) => to))).toEqual(new Set([holder.email]));
  const [first] = sent;
  const { subject, text } = await renderEmail('role-activated', 'en', first?.values as never);
  expect(subject).toMatch(/^Your role Editor at .+ has begun$/);
  expect(text).toContain('for Berlin');
  const waiting = await rowsOf<{ input: object }>(api, `select input from outbox where process = 'emailDelivery'`);
  expect(JSON.stringify(waiting)).not.toMatch(/Ana|Berlin|Editor|@/);
});

test('the mail has the Environment’s design: its brand, or the Application’s name', async () => {
  const hear = async () => {
    const id = await assign(await newHolder(), { effective_from: inDays(1) });
    api.clock.advance(days(1));
    await look(id);
    return sent.at(-1)?.brand;
  };
  expect(await hear()).toEqual({ name: 'Portal', color: null, supportEmail: null });
  const branding = { name: 'Northwind', primary_color: '#aa0011', support_email: 'help@northwind.example' };
  await rowsOf(api, `update environment_settings set branding = branding || $2 where environment_id = $1`, [
    account.scope.environmentId,
    JSON.stringify(branding),
  ]);
  const { name: brand, primary_color: color, support_email: supportEmail } = branding;
  expect(await hear()).toEqual({ name: brand, color, supportEmail });
});

test('nobody else gets a mail; an existing equal assignment keeps its setting', async () => {
  const holder = await newHolder();
  const window = { effective_from: inDays(1), effective_to: inDays(2) };
  const path = `/identities/${holder.id}/role-assignments`;
  const wanted = { role_id: roleId, node_id: nodeId, ...window };
  const { data } = (await call('POST', path, 201, wanted)).json();
  expect(data.notify_holder).toBe(false);
  const again = (await call('POST', path, 200, { ...wanted, notify_holder: true })).json().data;
  expect(again).toEqual(data);
  api.clock.advance(days(3));
  expect(await look(data.assignment_id)).toEqual([]);
});

test('an assignment with mails is shown as such in bulk, in the Portal and in all lists', async () => {
  const [one, other] = [await newHolder(), await newHolder()];
  const window = { effective_to: inDays(30) };
  const of = (identity_id: string) => ({
    identity_id,
    role_id: roleId,
    node_id: nodeId,
    notify_holder: true,
    ...window,
  });
  const { items } = (await call('POST', '/role-assignments', 200, { role_assignments: [of(one.id)] })).json();
  expect(items).toMatchObject([{ status: 'created' }]);
  const url = account.portalPath(`/identities/${other.id}/role-assignments`);
  const { identity_id: _, ...payload } = of(other.id);
  const headers = await account.as('owner');
  const made = (await send(api.app, 201, { method: 'POST', url, headers, payload })).json().data;
  expect(made.notify_holder).toBe(true);
  const listed = (await call('GET', `/identities/${one.id}/role-assignments`, 200)).json().items;
  expect(listed).toMatchObject([{ assignment_id: items[0].id, notify_holder: true }]);
  await send(api.app, 400, { method: 'POST', url, headers, payload: { ...payload, notify_holder: 'yes' } });
});

test('after a time without a worker only the last mail is sent', async () => {
  const holder = await newHolder();
  const id = await assign(holder, { effective_from: inDays(1), effective_to: inDays(20) });
  api.clock.advance(days(14));
  expect(await look(id)).toEqual(['role-expiring']);
  api.clock.advance(days(20));
  expect(await look(id)).toEqual(['role-expiring', 'role-expired']);
  const events = await eventsOf(id);
  expect(events.map(({ action }) => action.split('.')[1])).toEqual(['activated', 'expiring', 'expiring', 'expired']);
});

test('the assignment’s process learns when to look again, and when nothing is left to report', async () => {
  const { accountId, applicationId, environmentId } = account.scope;
  const bounds = { effective_from: inDays(1), effective_to: inDays(3) };
  const holder = await newHolder();
  const id = await assign(holder, bounds);
  expect(await windows.advance(id)).toEqual({ status: 'running', wakeAt: bounds.effective_from });
  api.clock.advance(days(1));
  const running = await windows.advance(id);
  expect(running).toEqual({
    status: 'running',
    wakeAt: new Date(Date.parse(bounds.effective_to) - days(1)).toISOString(),
  });
  expect(await windows.advance(id)).toEqual(running);
  api.clock.advance(days(2));
  expect(await windows.advance(id)).toEqual({ status: 'completed', wakeAt: null });
  expect(await windows.advance(id)).toEqual({ status: 'completed', wakeAt: null });
  const rows = await rowsOf(api, 'select status, ended_at from role_assignment_windows where id = $1', [id]);
  expect(rows).toEqual([{ status: 'completed', ended_at: api.clock.now }]);
  const place = { account_id: accountId, application_id: applicationId, environment_id: environmentId };
  const metadata = { identity_id: holder.id, role_id: roleId, node_id: nodeId, ...bounds };
  expect((await eventsOf(id))[0]).toEqual({
    action: 'role_assignment.activated',
    ...place,
    metadata: { ...metadata, at: bounds.effective_from },
  });

  const stopped = await assign(await newHolder(), { effective_to: inDays(20) });
  expect(await windows.cancel(stopped, 'cancelled_by_operator')).toEqual({ status: 'cancelled', wakeAt: null });
  api.clock.advance(days(20));
  expect(await windows.advance(stopped)).toEqual({ status: 'cancelled', wakeAt: null });
  expect(await eventsOf(stopped)).toMatchObject([
    {
      action: 'role_assignment.window_cancelled',
      ...place,
      metadata: { role_id: roleId, reason: 'cancelled_by_operator' },
    },
  ]);
  expect(await windows.advance(uuidv7())).toEqual({ status: 'removed', wakeAt: null });
});

test('a mail that is not true any more is not sent: removed, stopped, ended, or the holder kept out', async () => {
  const window = () => ({ effective_from: inDays(1), effective_to: inDays(5) });
  const begun = async () => {
    const holder = await newHolder();
    const id = await assign(holder, window());
    api.clock.advance(days(1));
    await windows.advance(id);
    return { holder, id };
  };
  const taken = await begun();
  await call('DELETE', `/identities/${taken.holder.id}/role-assignments/${taken.id}`, 204);
  expect(await deliver(taken.id)).toEqual([]);
  api.clock.advance(days(10));
  expect(await look(taken.id)).toEqual([]);

  const stopped = await begun();
  await windows.cancel(stopped.id, 'cancelled_by_operator');
  expect(await deliver(stopped.id)).toEqual([]);
  expect(await look(stopped.id)).toEqual([]);

  const over = await begun();
  api.clock.advance(days(4) + hours(1));
  expect(await deliver(over.id)).toEqual([]);
  expect(await look(over.id)).toEqual(['role-expired']);
  sent.length = 0;

  const out = await begun();
  await call('POST', `/identities/${out.holder.id}/deactivate`, 200);
  expect(await deliver(out.id)).toEqual([]);

  const gone = await begun();
  await call('DELETE', `/identities/${gone.holder.id}`, 204);
  expect(await deliver(gone.id)).toEqual([]);
});

test('the mail has the Environment’s language and name, and says if there is no end', async () => {
  const { environmentId } = account.scope;
  await rowsOf(api, `update environment_settings set default_locale = 'de', branding = $2 where environment_id = $1`, [
    environmentId,
    { name: 'Nordwind', logo_url: null, primary_color: null, support_email: null },
  ]);
  const id = await assign(await newHolder(), { effective_from: inDays(1) });
  api.clock.advance(days(1));
  expect(await look(id)).toEqual(['role-activated']);
  const { subject, text } = await renderEmail('role-activated', sent[0]?.locale as 'de', sent[0]?.values as never);
  expect(subject).toBe('Ihre Rolle Editor bei Nordwind hat begonnen');
  expect(text).toContain('Enddatum: keines.');
});
