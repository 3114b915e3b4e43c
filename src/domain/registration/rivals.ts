import type { EntityManager } from 'typeorm';
import { PendingRegistration } from '../../../entities/pending-registration.js';
import { lockExclusively } from '../../platform/database/advisory-locks.js';
import { countedAddress } from '../counted-address.js';
import { recordEvent } from '../events/record.js';
import { startLater } from '../outbox.js';
import { ended } from './ended.js';

/**
 * Until this transaction ends, nobody else parks a registration of the address or becomes its User: one that is parked meanwhile
 * would neither see the User nor be seen, and would wait for nothing.
 */
export const takeTurn = (tx: EntityManager, email: string): Promise<void> =>
  lockExclusively(tx, `registrations/${countedAddress(email)}`);

type Waiting = Pick<PendingRegistration, 'id' | 'expiresAt'>;

/** Every waiting registration of an address, locked in one order, so that two links settle one after the other. */
export const lockWaiting = (tx: EntityManager, email: string): Promise<Waiting[]> =>
  tx.query(
    `select id, expires_at as "expiresAt" from pending_registrations
     where id = any (array(select gatehouse_waiting_registrations($1))) and status = 'pending' order by id for update`,
    [email],
  );

interface Discard {
  reason: string;
  now: Date;
  /** Whose address it is now. */
  userId?: string;
}

/** Ends some that wait, and deletes their personal data. */
export async function discardRegistrations(
  tx: EntityManager,
  ids: string[],
  { reason, now, userId }: Discard,
): Promise<void> {
  for (const id of ids) {
    await tx.update(PendingRegistration, { id }, { ...ended('discarded', reason, now), userId: userId ?? null });
    await recordEvent(tx, 'auth.registration_discarded', { resourceId: id, metadata: { reason } });
  }
}

/** Ends all that wait for an address, before somebody who has shown in another way that it is theirs becomes its User. */
export async function discardWaiting(tx: EntityManager, email: string, of: { userId: string; now: Date }) {
  await takeTurn(tx, email);
  const waiting = await lockWaiting(tx, email);
  const ids = waiting.map(({ id }) => id);
  await discardRegistrations(tx, ids, { ...of, reason: 'address_has_a_user' });
  for (const one of waiting) await tellDiscarded(tx, one);
}

/** Has the process of one that was discarded end at once. */
export const tellDiscarded = (tx: EntityManager, { id, expiresAt }: Waiting): Promise<void> =>
  startLater(tx, 'registrationVerification', {
    pendingRegistrationId: id,
    expiresAt: expiresAt.toISOString(),
    reminderAt: null,
    news: 'discarded',
  });
