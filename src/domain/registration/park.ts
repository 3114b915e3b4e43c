import { type EntityManager, Raw } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { PendingRegistration } from '../../../entities/pending-registration.js';
import { User } from '../../../entities/user.js';
import { after } from '../../platform/clock.js';
import { currentContext } from '../../platform/context.js';
import { hashSecret } from '../../platform/crypto/one-time-secret.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import { parkIntent } from '../account-intents/park.js';
import { planEmail } from '../emails/queue.js';
import { recordEvent } from '../events/record.js';
import { startLater } from '../outbox.js';
import { registrationToken } from './link.js';
import { type Durations, registrationInput, verificationEmail } from './process.js';
import { lockAddress } from './rivals.js';

export interface RegistrationRequest {
  email: string;
  passwordHash: string;
  firstName: string;
  lastName: string;
  accountName: string;
  applicationName: string;
  locale: 'en' | 'de';
}

/**
 * Stores a registration, or the Account intent of a known User, until the owner of the address confirms it (spec,
 * "States and transitions"). Both take the same number of reads and writes, so that the time does not tell whether the
 * address is known.
 */
export async function park(
  tx: EntityManager,
  request: RegistrationRequest & { browserHash: Buffer },
  { sealing, now, ...durations }: Durations & { sealing: Sealing; now: Date },
): Promise<void> {
  await lockAddress(tx, request.email);
  // Row-level security keeps PostgreSQL from using the index on addresses; the function can use it.
  const user = await tx.findOneBy(User, { id: Raw((column) => `${column} = gatehouse_user_id(:email)`, request) });
  const id = user
    ? await parkIntentOf(tx, user, request, { now, expiresAt: after(now, durations.intentTtlMs) })
    : uuidv7();
  if (!user) await parkRegistration(tx, { ...request, id }, { sealing, now, durations });
  await recordEvent(tx, 'auth.registration_requested', {
    resourceId: id,
    metadata: { parked: user ? 'account_intent' : 'pending_registration' },
  });
}

async function parkRegistration(
  tx: EntityManager,
  request: RegistrationRequest & { browserHash: Buffer; id: string },
  { sealing, now, durations }: { sealing: Sealing; now: Date; durations: Durations },
) {
  const { token, keyId } = registrationToken(sealing, request);
  const registration: PendingRegistration = {
    ...request,
    tokenHash: hashSecret(token),
    tokenKeyId: keyId,
    attempts: 0,
    status: 'pending',
    endedReason: null,
    userId: null,
    accountId: null,
    correlationId: currentContext().correlationId,
    createdAt: now,
    expiresAt: after(now, durations.ttlMs),
    endedAt: null,
  };
  await tx.insert(PendingRegistration, registration);
  await planEmail(tx, verificationEmail(registration), now); // the process asks for it to be sent
  await startLater(tx, 'registrationVerification', registrationInput(registration, durations));
}

const parkIntentOf = (
  tx: EntityManager,
  user: User,
  { accountName, applicationName, locale }: RegistrationRequest,
  times: { now: Date; expiresAt: Date },
) => parkIntent(tx, { user, accountName, applicationName, locale, ...times });
