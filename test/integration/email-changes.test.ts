import { randomBytes } from 'node:crypto';
import { Email } from '../../entities/email.js';
import { EmailChange } from '../../entities/email-change.js';
import { Event } from '../../entities/event.js';
import { OutboxMessage } from '../../entities/outbox-message.js';
import { User } from '../../entities/user.js';
import { createEmailChangeExpiry } from '../../src/domain/email-changes/expiry.js';
import { emailChangeToken } from '../../src/domain/email-changes/link.js';
import { createEmails } from '../../src/domain/emails/emails.js';
import { hours } from '../../src/platform/clock.js';
import type { Mailer } from '../../src/platform/mail/mailer.js';
import { mailSubjects } from '../../src/worker/mails.js';
import { type AdminAuth, bearer, cookieOf, newAdminAuth } from '../support/admin-auth.js';

let auth: AdminAuth;
let expiry: ReturnType<typeof createEmailChangeExpiry>;
beforeAll(async () => {
  auth = await newAdminAuth();
  expiry = createEmailChangeExpiry(auth);
});
afterAll(() => auth.close());

const system: AdminAuth['db']['transaction'] = (scope, work) => auth.db.transaction(scope, work);
const rowOf = (id: string) => system('system', (tx) => tx.findOneByOrFail(EmailChange, { id }));
const newAddress = () => `${randomBytes(6).toString('hex')}@new.example.com`;

/** Has a new user request an address; returns the change, and how its browser confirms it. */
async function requested(email = newAddress()) {
  const user = await auth.addUser();
  const headers = bearer((await auth.sessionOf(user.id)).accessToken);
  const answer = await auth.post('/email', { email }, { ...headers, 'accept-language': 'de' });
  expect(answer.statusCode).toBe(200);
  const change = await system('system', (tx) => tx.findOneByOrFail(EmailChange, { userId: user.id }));
  const { token } = emailChangeToken(auth.sealing, change);
  const cookie = `admin_email_change=${cookieOf(answer, 'admin_email_change').value}`;
  const confirm = async () => expect((await auth.post('/email/confirm', { token }, { cookie })).statusCode).toBe(200);
  return { user, email, change, token, confirm };
}

/** Sends a mail about a change; returns what the mailer got, or how the mail ended otherwise. */
async function sentAbout(subjectId: string, template: string) {
  const sent: { to: string; values: Record<string, unknown>; locale: string }[] = [];
  const send: Mailer['send'] = async (_, mail) => {
    sent.push(mail as never);
    return { messageId: '<1@test>' };
  };
  const { baseUrl } = auth;
  const subjects = mailSubjects({ ...auth, adminAppUrl: baseUrl });
  const emails = createEmails({ ...auth, mailer: { send }, subjects });
  const { id } = await system('system', (tx) => tx.findOneByOrFail(Email, { subjectId, template }));
  const status = await emails.send(id);
  return sent[0] ?? status;
}

describe('the mails about a new address', () => {
  test('send its link to it, without the name, which could say anything to a stranger', async () => {
    const { email, token, change } = await requested();
    const mail = await sentAbout(change.id, 'email-change');
    expect(mail).toMatchObject({
      to: email,
      locale: 'de',
      values: { first_name: email.split('@')[0], link: `${auth.baseUrl}/v1/auth/email/confirm?token=${token}` },
    });
    expect(JSON.stringify(mail)).not.toContain('Ana');
  });

  test('send no link once it has ended', async () => {
    const { change, confirm } = await requested();
    await confirm();
    expect(await sentAbout(change.id, 'email-change')).toBe('cancelled');
  });

  test('tell the owner of an address that it stays theirs, with no link', async () => {
    const owner = await auth.addUser();
    const { change } = await requested(owner.email.toUpperCase());
    const mail = await sentAbout(change.id, 'email-change-taken');
    expect(mail).toMatchObject({ to: owner.email, values: { first_name: 'Ana' } });
    expect(JSON.stringify(mail)).not.toContain('token');
  });

  test('tell the old address of the change, and not the new one', async () => {
    const { user, email, change, confirm } = await requested();
    await confirm();
    const mail = await sentAbout(change.id, 'email-changed');
    expect(mail).toMatchObject({ to: user.email, values: { first_name: 'Ana' } });
    expect(JSON.stringify(mail)).not.toContain(email);
  });
});

describe('the process of a new address', () => {
  const eventsOf = (resourceId: string, action: string) =>
    system('system', (tx) => tx.findBy(Event, { resourceId, action }));

  test('ends it at its time, once, and deletes the address', async () => {
    const { user, change } = await requested();
    expect(await expiry.expire(change.id)).toBe('pending');
    auth.pass(hours(24));
    for (const _ of [1, 2]) expect(await expiry.expire(change.id)).toBe('expired');
    expect(await rowOf(change.id)).toMatchObject({ status: 'expired', email: null, endedAt: expect.any(Date) });
    expect(await eventsOf(user.id, 'auth.admin_email_change_expired')).toHaveLength(1);
  });

  test('ends it for an operator', async () => {
    const { user, change } = await requested();
    expect(await expiry.cancel(change.id)).toBe('cancelled');
    expect(await rowOf(change.id)).toMatchObject({ status: 'cancelled', email: null });
    expect(await eventsOf(user.id, 'auth.admin_email_change_cancelled')).toHaveLength(1);
  });

  test('leaves one alone that was confirmed, and is told of it', async () => {
    const { user, email, change, confirm } = await requested();
    await confirm();
    expect(await expiry.cancel(change.id)).toBe('confirmed');
    expect(await system('system', (tx) => tx.findOneByOrFail(User, { id: user.id }))).toMatchObject({ email });
    const messages = await system('system', (tx) => tx.findBy(OutboxMessage, { process: 'emailChange' }));
    const news = messages.map(({ input }) => input as { changeId: string; news?: string });
    expect(news.filter(({ changeId }) => changeId === change.id).map((one) => one.news)).toEqual([undefined, 'ended']);
  });

  test('finds one withdrawn whose user is deleted', async () => {
    const { user, change } = await requested();
    await system('system', (tx) => tx.delete(User, { id: user.id }));
    expect(await expiry.expire(change.id)).toBe('withdrawn');
  });
});
