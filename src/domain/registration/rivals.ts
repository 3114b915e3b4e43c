import type { EntityManager } from 'typeorm';
import { PendingRegistration } from '../../../entities/pending-registration.js';
import { lockExclusively } from '../../platform/database/advisory-locks.js';
import { countedAddress } from '../addresses/counted-address.js';
import { cancelPlanned } from '../emails/cancel.js';
import { recordEvent } from '../events/record.js';
import { startLater } from '../outbox.js';
import { ended } from './ended.js';
import { verificationCause } from './process.js';

/**
 * Locks the address until the transaction ends: nobody else stores a registration of it or becomes its User. Without
 * the lock, a registration stored meanwhile would neither see the User nor be seen, and its link would not work.
 */
export const lockAddress = (tx: EntityManager, email: string): Promise<void> =>
  lockExclusively(tx, `registrations/${countedAddress(email)}`);

type Waiting = Pick<PendingRegistration, 'id' | 'expiresAt'>;

/** Locks an address's pending registrations, always in one order, so that two links settle one after the other. */
export const lockWaiting = (tx: EntityManager, email: string): Promise<Waiting[]> =>
  tx.query(
    `select id, expires_at as "expiresAt" from pending_registrations
     where id = any (array(select gatehouse_waiting_registrations($1))) and status = 'pending' order by id for update`,
    [email],
  );

interface Discard {
  reason: string;
  now: Date;
  /** The User who has the address now. */
  userId?: string;
}

/** Ends pending registrations, and deletes their personal data. */
export async function discardRegistrations(
  tx: EntityManager,
  ids: string[],
  { reason, now, userId }: Discard,
): Promise<void> {
  for (const id of ids) {
    await tx.update(PendingRegistration, { id }, { ...ended('discarded', reason, now), userId: userId ?? null });
    await recordEvent(tx, 'auth.registration_discarded', { resourceId: id, metadata: { reason } });
  }
  await cancelPlanned(tx, ids.map(verificationCause), now);
}

/** Ends all pending registrations of an address, before a person who has proved it in another way becomes its User. */
export async function discardWaiting(tx: EntityManager, email: string, of: { userId: string; now: Date }) {
  await lockAddress(tx, email);
  const waiting = await lockWaiting(tx, email);
  const ids = waiting.map(({ id }) => id);
  await discardRegistrations(tx, ids, { ...of, reason: 'address_has_a_user' });
  for (const one of waiting) await notifyDiscarded(tx, one);
}

/** Makes the process of a discarded registration end at once. */
export const notifyDiscarded = (tx: EntityManager, { id, expiresAt }: Waiting): Promise<void> =>
  startLater(tx, 'registrationVerification', {
    pendingRegistrationId: id,
    expiresAt: expiresAt.toISOString(),
    reminderAt: null,
    news: 'discarded',
  });
