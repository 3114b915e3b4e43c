import { randomBytes, randomUUID } from 'node:crypto';
import { createAccountIntents } from '../../src/domain/account-intents/account-intents.js';
import { createAdministratorInviteExpiry } from '../../src/domain/administrator-invites/expiry.js';
import { createEmails } from '../../src/domain/emails/emails.js';
import { createIdentityInviteExpiry } from '../../src/domain/identity-invites/expiry.js';
import { registrationToken } from '../../src/domain/registration/link.js';
import type { RegistrationRequest } from '../../src/domain/registration/park.js';
import { createRegistrations } from '../../src/domain/registration/registrations.js';
import { type Clock, hours } from '../../src/platform/clock.js';
import { createSealing, type Sealing } from '../../src/platform/crypto/sealing.js';
import type { Mailer } from '../../src/platform/mail/mailer.js';
import { mailSubjects } from '../../src/worker/mails.js';
import { rowsAsOwner, type TestDatabase } from './database.js';

export const baseUrl = 'https://id.example.com';

export interface SentMail {
  name: string;
  to: string;
  values: Record<string, string | number>;
  messageId: string;
}

/**
 * Returns the registration services on a test's database, with a clock to move and a mailer that keeps its mails.
 * @param shared the keys and the clock of an api beside them
 */
export function registrationServices(
  { db, ownerUrl }: TestDatabase,
  durations = { ttlMs: hours(24), reminderAfterMs: hours(20), intentTtlMs: hours(24) },
  shared: { sealing?: Sealing; now?: Clock } = {},
) {
  const { sealing = createSealing([{ id: 'k1', key: randomBytes(32) }]) } = shared;
  let ahead = 0;
  const now = shared.now ?? (() => new Date(Date.now() + ahead));
  const sent: SentMail[] = [];
  let failure: Error | null = null;
  let meanwhile: (() => Promise<unknown>) | null = null;
  const mailer: Pick<Mailer, 'send'> = {
    async send(name, { to, values, messageId }) {
      if (failure) throw failure;
      sent.push({ name, to, values: values as SentMail['values'], messageId });
      await meanwhile?.();
      return { messageId: `<${messageId}@test>` };
    },
  };
  const registrations = createRegistrations({ db, sealing, now, ...durations });
  const accountIntents = createAccountIntents({ db, sealing, now, intentTtlMs: durations.intentTtlMs });
  const subjects = mailSubjects({ sealing, now, baseUrl, adminAppUrl: baseUrl });
  return {
    registrations,
    accountIntents,
    invites: {
      administrator: createAdministratorInviteExpiry({ db, now }),
      identity: createIdentityInviteExpiry({ db, now }),
    },
    sealing,
    emails: createEmails({ db, mailer, subjects, now }),
    sent,
    now,
    moveClock(ms: number) {
      ahead += ms;
    },
    mailFails(error: Error | null) {
      failure = error;
    },
    /** Runs work while a mail is being sent, before the mail server has answered. */
    whileSending(work: () => Promise<unknown>) {
      meanwhile = work;
    },
    tokenOf: (id: string) => registrationToken(sealing, { id }).token,
    /** Parks a registration; returns its id and its request. */
    async park(changes: Partial<RegistrationRequest> = {}) {
      const request = aRequest(changes);
      await registrations.park(request);
      const [row] = await rowsAsOwner(
        ownerUrl,
        'select id from pending_registrations where email = $1 order by id desc limit 1',
        [request.email],
      );
      return { id: row?.id as string, request };
    },
  };
}

export const aRequest = (changes: Partial<RegistrationRequest> = {}): RegistrationRequest => ({
  email: `ana.${randomUUID()}@example.com`,
  passwordHash: '$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA',
  firstName: 'Ana',
  lastName: 'Kovač',
  accountName: `Northwind ${randomUUID().slice(0, 8)}`,
  applicationName: 'Shop',
  locale: 'en',
  ...changes,
});
