import type { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { Application } from '../../../entities/application.js';
import { PendingRegistration } from '../../../entities/pending-registration.js';
import { User } from '../../../entities/user.js';
import { runInContext } from '../../platform/context.js';
import { provisionAccount } from '../accounts/provisioning.js';
import { userByAddress } from '../addresses/user-by-address.js';
import { recordEvent } from '../events/record.js';
import { ended } from './ended.js';
import { discardRegistrations, lockAddress, lockWaiting } from './rivals.js';

export interface ProvisionedRegistration {
  userId: string;
  accountId: string;
  applicationId: string;
  /** Other pending registrations of the same address, discarded by this one. */
  discardedIds: string[];
}

/**
 * Turns a pending registration into a User with an Account, in the caller's transaction. The first registration of an
 * address wins. A repetition returns the same ids.
 * @returns null if there is nothing to confirm: the registration is unknown, expired or ended, its Application is gone,
 *   or the address belongs to a User by now
 */
export async function provision(tx: EntityManager, id: string, now: Date): Promise<ProvisionedRegistration | null> {
  const waits = await tx.findOneBy(PendingRegistration, { id, status: 'pending' });
  if (waits?.email) await lockAddress(tx, waits.email);
  const rivals = waits?.email ? await lockWaiting(tx, waits.email) : [];
  const registration = await tx.findOneBy(PendingRegistration, { id }); // read again under the lock
  if (registration?.status === 'confirmed') return provisionedBefore(tx, registration);
  if (registration?.status !== 'pending' || registration.expiresAt <= now) return null;
  if ((await userByAddress(tx, registration.email!)) !== null) {
    await discardRegistrations(tx, [id], { reason: 'address_has_a_user', now });
    return null;
  }
  const user = userOf(registration, now);
  // The person who opened the link is the actor, whichever process does the work.
  return runInContext(
    { correlationId: registration.correlationId, actor: { type: 'platform_admin', id: user.id } },
    async () => {
      await tx.insert(User, user);
      const { account, application } = await provisionAccount(tx, {
        userId: user.id,
        accountName: registration.accountName!,
        applicationName: registration.applicationName!,
        now,
      });
      const made = { userId: user.id, accountId: account.id };
      await tx.update(PendingRegistration, { id }, { ...ended('confirmed', null, now), ...made });
      await recordEvent(tx, 'auth.registration_confirmed', { accountId: account.id, resourceId: id });
      const discardedIds = rivals.map((rival) => rival.id).filter((rival) => rival !== id);
      await discardRegistrations(tx, discardedIds, { reason: 'another_registration_confirmed', now, userId: user.id });
      return { ...made, applicationId: application.id, discardedIds };
    },
  );
}

async function provisionedBefore(tx: EntityManager, { userId, accountId }: PendingRegistration) {
  const application = await tx.findOne(Application, {
    where: { accountId: accountId! },
    order: { createdAt: 'asc', id: 'asc' },
  });
  if (!application) return null;
  const discarded = await tx.findBy(PendingRegistration, { userId: userId!, status: 'discarded' });
  return {
    userId: userId!,
    accountId: accountId!,
    applicationId: application.id,
    discardedIds: discarded.map(({ id }) => id),
  };
}

const userOf = (registration: PendingRegistration, now: Date): User => ({
  id: uuidv7(),
  email: registration.email!,
  firstName: registration.firstName!,
  lastName: registration.lastName!,
  passwordHash: registration.passwordHash,
  passwordChangedAt: registration.createdAt,
  mfaResetAt: null,
  emailChangedAt: null,
  emailVerifiedAt: now,
  createdAt: now,
  updatedAt: now,
});
