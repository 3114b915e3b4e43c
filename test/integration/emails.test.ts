import { randomUUID } from 'node:crypto';
import { createEmails } from '../../src/domain/emails/emails.js';
import { queueEmail } from '../../src/domain/emails/queue.js';
import type { EmailSubjects } from '../../src/domain/emails/subjects.js';
import { createMailer } from '../../src/platform/mail/mailer.js';
import { MailRejected } from '../../src/platform/mail/rejected.js';
import { newDatabase, rowsAsOwner, type TestDatabase } from '../support/database.js';
import { registrationServices } from '../support/registration.js';
import { startSmtpServer, whole } from '../support/smtp-server.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await newDatabase();
});
afterAll(() => database.close());

async function queuedMail() {
  const services = registrationServices(database);
  const { id, request } = await services.park();
  await services.registrations.queueVerificationEmail(id);
  const [email] = await rowsAsOwner(database.ownerUrl, 'select id from emails where subject_id = $1', [id]);
  const emailId = email?.id as string;
  const row = async () => (await rowsAsOwner(database.ownerUrl, 'select * from emails where id = $1', [emailId]))[0];
  const events = () => rowsAsOwner(database.ownerUrl, 'select * from events where resource_id = $1', [emailId]);
  return { ...services, registrationId: id, address: request.email, emailId, row, events };
}

test('a mail that was sent is not sent again', async () => {
  const { emails, emailId, sent, row } = await queuedMail();
  expect(await emails.send(emailId)).toBe('sent');
  expect(await emails.send(emailId)).toBe('sent');
  expect(sent).toHaveLength(1);
  expect(await row()).toMatchObject({ status: 'sent', failure: null, ended_at: expect.any(Date) });
});

test('while the mail server is away the row waits, and no error contains an address', async () => {
  const { emails, emailId, sent, row, mailFails } = await queuedMail();
  mailFails(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }));
  await expect(emails.send(emailId)).rejects.toThrow('ECONNREFUSED');
  expect(await row()).toMatchObject({ status: 'pending' });
  mailFails(null);
  expect(await emails.send(emailId)).toBe('sent');
  expect(sent).toHaveLength(1);
});

test('while PostgreSQL accepts no writes no mail is sent: it could not be recorded, and each attempt would send it again', async () => {
  const { emails, emailId, sent, row } = await queuedMail();
  const cannotWrite =
    'create function no_writes() returns trigger language plpgsql as $$ begin raise disk_full; end $$';
  const trigger = 'create trigger no_writes before update on emails for each row execute function no_writes()';
  for (const text of [cannotWrite, trigger]) await rowsAsOwner(database.ownerUrl, text);
  await expect(emails.send(emailId)).rejects.toMatchObject({ code: '53100' });
  expect([sent.length, (await row())?.attempted_at]).toEqual([0, null]);
  await rowsAsOwner(database.ownerUrl, 'drop function no_writes cascade');
  expect([await emails.send(emailId), sent.length]).toEqual(['sent', 1]);
  expect(await row()).toMatchObject({ attempted_at: expect.any(Date) });
});

test('an attempt after a crash between sending and commit has the same Message-ID', async () => {
  const { emails, emailId, sent } = await queuedMail();
  await emails.send(emailId);
  // As if the process had died before the commit.
  await rowsAsOwner(database.ownerUrl, `update emails set status = 'pending', ended_at = null where id = $1`, [
    emailId,
  ]);
  await emails.send(emailId);
  expect(new Set(sent.map(({ messageId }) => messageId)).size).toBe(1);
});

test('a permanent refusal ends a mail, with the code and without the address', async () => {
  const { emails, emailId, address, row, events, mailFails } = await queuedMail();
  mailFails(new MailRejected('The mail was refused', `550 5.1.1 <${address}>: no such user`));
  expect(await emails.send(emailId)).toBe('failed');
  expect(await row()).toMatchObject({ status: 'failed', failure: 'the mail server refused it: 550 5.1.1' });
  const [event] = await events();
  expect(event).toMatchObject({
    action: 'email.failed',
    outcome: 'failure',
    metadata: { template: 'registration-verification' },
  });
  expect(JSON.stringify([await row(), event])).not.toContain(address);
});

test('giving up and cancelling take effect once, and never undo a sent mail', async () => {
  const given = await queuedMail();
  expect([await given.emails.giveUp(given.emailId), await given.emails.giveUp(given.emailId)]).toEqual([
    'failed',
    'failed',
  ]);
  expect(await given.events()).toHaveLength(1);
  const cancelled = await queuedMail();
  expect(await cancelled.emails.cancel(cancelled.emailId)).toBe('cancelled');
  expect(await cancelled.emails.send(cancelled.emailId)).toBe('cancelled');
  expect(cancelled.sent).toEqual([]);
  expect(await cancelled.emails.cancel(cancelled.emailId)).toBe('cancelled');
  expect(await cancelled.events()).toMatchObject([
    {
      action: 'process.cancelled',
      actor_type: 'system',
      metadata: { kind: 'email', subject_id: cancelled.registrationId, reason: 'cancelled_by_operator' },
    },
  ]);
  const sent = await queuedMail();
  await sent.emails.send(sent.emailId);
  expect(await sent.emails.cancel(sent.emailId)).toBe('sent');
  expect(await sent.emails.giveUp(sent.emailId)).toBe('sent');
});

test.each([
  ['Error EENVELOPE 452 RCPT TO', 'the mail server did not accept it in time: 452'],
  ['Error ESOCKET ECONNREFUSED CONN', 'the mail server could not be reached in time'],
  ['QueryFailedError 53300', 'the mail server could not be reached in time'],
  [null, 'the mail server could not be reached in time'],
])('a mail that is given up after %s says so', async (outage, failure) => {
  const { emails, emailId, row } = await queuedMail();
  expect(await emails.giveUp(emailId, outage)).toBe('failed');
  expect(await row()).toMatchObject({ status: 'failed', failure });
});

test.each(['cancel', 'giveUp'] as const)(
  'a mail that was sent despite a %s is recorded as sent, once, also in its row',
  async (end) => {
    const { emails, emailId, sent, row, events, whileSending } = await queuedMail();
    whileSending(() => emails[end](emailId));
    expect(await emails.send(emailId)).toBe('sent');
    expect(await row()).toMatchObject({ status: 'sent', failure: null, ended_at: expect.any(Date) });
    const endedAs = end === 'cancel' ? 'cancelled' : 'failed';
    expect((await events()).at(-1)).toMatchObject({
      action: 'email.sent_after_all',
      outcome: 'success',
      metadata: { template: 'registration-verification', ended_as: endedAs },
    });
    expect(await emails.send(emailId)).toBe('sent');
    expect(await emails.cancel(emailId)).toBe('sent');
    expect([sent.length, (await events()).filter(({ action }) => action === 'email.sent_after_all').length]).toEqual([
      1, 1,
    ]);
  },
);

test('a mail whose row is missing, as after a restore, ends at whatever step it is', async () => {
  const { emails, emailId, sent, events } = await queuedMail();
  await rowsAsOwner(database.ownerUrl, 'delete from emails where id = $1', [emailId]);
  expect(await emails.send(emailId)).toBe('cancelled');
  expect(await emails.giveUp(emailId)).toBe('cancelled');
  expect(await emails.cancel(emailId)).toBe('cancelled');
  expect([sent, await events()]).toEqual([[], []]);
});

test('a mail about something that has ended is not sent, even if it was tried before', async () => {
  const { emails, emailId, registrations, registrationId, sent, row, mailFails } = await queuedMail();
  mailFails(new Error('connect ECONNREFUSED'));
  await expect(emails.send(emailId)).rejects.toThrow('ECONNREFUSED');
  mailFails(null);
  await registrations.cancel(registrationId, 'cancelled_by_operator');
  expect(await row()).toMatchObject({ status: 'pending' }); // its delivery ends it, and knows whether it was sent
  expect(await emails.send(emailId)).toBe('cancelled');
  expect(sent).toEqual([]);
  expect(await row()).toMatchObject({ status: 'cancelled', failure: 'nothing to send any more' });
});

test("a tenant's transaction can queue its mail, twice for one cause, and read none", async () => {
  const scope = { accountId: randomUUID() };
  const mail = {
    template: 'registration-reminder',
    locale: 'en',
    subjectId: randomUUID(),
    cause: `test/${randomUUID()}`,
    accountId: scope.accountId,
  } as const;
  await database.db.transaction(scope, async (tx) => {
    await queueEmail(tx, mail, new Date());
    await queueEmail(tx, mail, new Date());
    expect(await tx.query('select id from emails')).toEqual([]);
  });
  expect(await rowsAsOwner(database.ownerUrl, 'select id from emails where cause = $1', [mail.cause])).toHaveLength(1);
});

test('a mail arrives over SMTP', async () => {
  const received: string[] = [];
  const smtp = await startSmtpServer({ onData: whole((raw) => received.push(raw)) });
  const mailer = createMailer({ smtpUrl: smtp.url, from: 'Gatehouse <no-reply@example.com>' });
  const { emailId } = await queuedMail();
  const subjects = {
    'registration-verification': async () => ({
      to: 'ana@example.com',
      values: {
        first_name: 'Ana',
        account_name: 'Northwind',
        link: 'https://id.example.com/x',
        expires_at_text: 'soon',
      },
    }),
  } as unknown as EmailSubjects;
  const emails = createEmails({ db: database.db, mailer, subjects, now: () => new Date() });
  expect(await emails.send(emailId)).toBe('sent');
  expect(received[0]).toMatch(/^To: ana@example.com$/m);
  expect(received[0]).toMatch(/^Message-ID: <[0-9a-f]{40}@example.com>$/m);
  mailer.close();
  await smtp.stop();
});

test('a mail that a newer version has queued waits for a worker that knows it', async () => {
  const { emailId } = await queuedMail();
  const nothing = {} as EmailSubjects;
  const mailer = { send: async () => ({ messageId: '' }) };
  const emails = createEmails({ db: database.db, mailer, subjects: nothing, now: () => new Date() });
  await expect(emails.send(emailId)).rejects.toMatchObject({ name: 'OfNewerVersion' });
  const waiting = await rowsAsOwner(database.ownerUrl, 'select status from emails where id = $1', [emailId]);
  expect(waiting).toEqual([{ status: 'pending' }]);
});
