import type { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { EnvironmentMembership } from '../../../entities/environment-membership.js';
import { Identity } from '../../../entities/identity.js';
import { type Db, within } from '../../platform/database/db.js';
import { violates } from '../../platform/database/postgres-errors.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { DomainError } from '../errors.js';
import { recordEvent } from '../events/record.js';
import { addToCounter } from '../lists/counters.js';
import { endSessionsFromBefore } from '../sessions/before-joining.js';

export interface NewSignUp {
  email: string;
  /** Null if the person has none, or has not confirmed the address that it was chosen for (docs/decisions/0011). */
  passwordHash: string | null;
  /** Whether the person has proved the address already. */
  verified: boolean;
  firstName: string | null;
  lastName: string | null;
  /** The Environment's `daily_self_signup_cap`. */
  cap: number;
  now: Date;
}

/**
 * Counts one more sign-up of the day (UTC) against the cap. The count is exact: the row's lock lets one transaction
 * pass at a time. Call it first, so that all transactions wait here and none holds a lock that another in the queue
 * needs.
 * @throws DomainError sign_up.daily_cap_reached
 */
export async function countSignUp(
  tx: EntityManager,
  { accountId, environmentId }: EnvironmentScope,
  { cap, now }: Pick<NewSignUp, 'cap' | 'now'>,
): Promise<void> {
  const counted = await tx.query<unknown[]>(
    `insert into daily_sign_ups as today (environment_id, day, account_id, count)
     select $1::uuid, $2::date, $3::uuid, 1 where $4::integer > 0
     on conflict (environment_id, day) do update set count = today.count + 1 where today.count < $4::integer returning count`,
    [environmentId, now.toISOString().slice(0, 10), accountId, cap],
  );
  if (counted.length === 0) throw new DomainError('sign_up.daily_cap_reached');
}

/** Records that a sign-up was refused for the day's cap; after the transaction that counted. */
export const recordCapped = (db: Db, scope: EnvironmentScope): Promise<string> =>
  db.transaction(scope, (tx) =>
    recordEvent(tx, 'auth.sign_up_refused', {
      ...scope,
      resourceId: null,
      outcome: 'denied',
      metadata: { reason: 'sign_up.daily_cap_reached' },
    }),
  );

/** Creates the Identity, with its membership, counter and event. @throws DomainError identity.email_taken */
export async function createIdentity(
  tx: EntityManager,
  scope: EnvironmentScope,
  person: Omit<NewSignUp, 'cap'>,
): Promise<string> {
  const id = uuidv7();
  await insertIdentity(tx, scope, { ...person, id }).catch((error: unknown) => {
    throw violates(error, 'identities_email') ? new DomainError('identity.email_taken') : error;
  });
  await addMembership(tx, scope, id, { now: person.now, joined: false });
  return id;
}

/** Creates the Identity alone, in the Account's directory. @throws the violation of `identities_email` */
export async function insertIdentity(
  tx: EntityManager,
  { accountId }: EnvironmentScope,
  { id, email, passwordHash, verified, firstName, lastName, now }: Omit<NewSignUp, 'cap'> & { id: string },
): Promise<void> {
  await tx.insert(Identity, {
    id,
    accountId,
    email,
    emailVerifiedAt: verified ? now : null,
    firstName,
    lastName,
    avatarUrl: null,
    externalId: null,
    metadata: {},
    passwordHash,
    passwordChangedAt: passwordHash === null ? null : now,
    recoveryCodesGeneration: 0,
    mfaAdminResetAt: null,
    createdAt: now,
    updatedAt: now,
  });
}

/**
 * Makes an Identity of the Account a member of the Environment, with counter and event. It must not be a member yet.
 * @param by what brought the person here
 */
export async function addMembership(
  tx: EntityManager,
  scope: EnvironmentScope,
  identityId: string,
  { now, joined, by = 'sign_up' }: { now: Date; joined: boolean; by?: keyof typeof broughtBy },
): Promise<void> {
  await tx.insert(EnvironmentMembership, {
    ...within(scope),
    id: uuidv7(),
    identityId,
    isActive: true,
    lockedUntil: null,
    createdAt: now,
  });
  if (joined) await endSessionsFromBefore(tx, scope, [identityId], { reason: 'joined', at: now });
  await addToCounter(tx, scope, 'identities', 1);
  await recordEvent(tx, 'identity.created', {
    ...scope,
    resourceId: identityId,
    metadata: { joined, [broughtBy[by]]: true },
    actor: { type: 'identity', id: identityId },
  });
}

/** The field of the event's metadata for each cause. */
const broughtBy = { sign_up: 'signed_up', invite: 'invited', sso: 'provisioned' } as const;
