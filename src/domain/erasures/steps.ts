import type { EntityManager } from 'typeorm';
import type { Erasure, ErasureRest } from '../../../entities/erasure.js';
import { Identity } from '../../../entities/identity.js';
import { lockAssignments } from '../access/removing.js';
import { leaveIdentity } from '../access/window-rows.js';
import { addToCounter } from '../counters.js';
import { recordEvent } from '../events/record.js';
import { leaveOrganizations } from '../organizations/members.js';
import { forgetInvited } from './forget-invited.js';

// Each step can be repeated: it deletes what is there, and finds nothing the second time.

/** Ends what the person could still use, in the transaction of the request. */
export async function lockOut(tx: EntityManager, identityId: string, now: Date): Promise<void> {
  await tx.query('update environment_memberships set is_active = false where identity_id = $1 and is_active', [
    identityId,
  ]);
  await tx.query('update sessions set revoked_at = $2 where identity_id = $1 and revoked_at is null', [
    identityId,
    now,
  ]);
  await tx.query(
    `update grants set revoked_at = $2, revoked_reason = 'erasure' where identity_id = $1 and revoked_at is null`,
    [identityId, now],
  );
}

/** @returns whether there may be more */
export async function deleteSessions(tx: EntityManager, identityId: string, batchSize: number): Promise<boolean> {
  const [, tokens] = await tx.query<[unknown[], number]>(
    `delete from refresh_tokens where ctid = any (array(select ctid from refresh_tokens
       where kind = 'grant' and family_id in (select id from grants where identity_id = $1) limit $2))`,
    [identityId, batchSize],
  );
  if (tokens === batchSize) return true;
  // Codes and grants go with their session.
  const [, sessions] = await tx.query<[unknown[], number]>(
    `delete from sessions where id in (select id from sessions where identity_id = $1 limit $2)`,
    [identityId, batchSize],
  );
  return sessions === batchSize;
}

interface Left {
  environmentId: string;
  applicationId: string;
}

/** @returns whether there may be more */
export async function removeMemberships(
  tx: EntityManager,
  { accountId, identityId }: Pick<Erasure, 'accountId' | 'identityId'>,
  batchSize: number,
): Promise<boolean> {
  // As whoever deletes it from one Environment at this moment: else both of them would count it and tell of it.
  await tx.query('select from identities where account_id = $1 and id = $2 for update', [accountId, identityId]);
  const [left] = await tx.query<[Left[], number]>(
    `delete from environment_memberships where id in (
       select id from environment_memberships where identity_id = $1 order by environment_id limit $2)
     returning environment_id as "environmentId",
       (select application_id from environments where id = environment_id) as "applicationId"`,
    [identityId, Math.min(batchSize, 100)],
  );
  // In one order, so that two erasures that take the same counters never wait for each other.
  for (const place of left.toSorted((a, b) => a.environmentId.localeCompare(b.environmentId))) {
    const scope = { accountId, ...place };
    await leaveOrganizations(tx, scope, identityId);
    await addToCounter(tx, scope, 'identities', -1);
    await recordEvent(tx, 'identity.deleted', { ...scope, resourceId: identityId });
  }
  return left.length === Math.min(batchSize, 100);
}

/**
 * Deletes the profile with what refers to it, and says so once to the Account.
 * @returns false where it has a membership (again): those are removed first, each with its counter and event
 */
export async function removeIdentity(
  tx: EntityManager,
  { accountId, identityId: id }: Pick<Erasure, 'accountId' | 'identityId'>,
): Promise<boolean> {
  // The lock keeps anybody from giving it a membership from here on.
  const identity = await tx.findOne(Identity, { where: { accountId, id }, lock: { mode: 'pessimistic_write' } });
  if (!identity) return true;
  const [row] = await tx.query<{ member: boolean }[]>(
    'select exists (select from environment_memberships where identity_id = $1) as member',
    [id],
  );
  if (row!.member) return false;
  await leaveIdentity(tx, id);
  await lockAssignments(tx, { accountId, identityId: id });
  await forgetInvited(tx, accountId, [id]);
  await tx.delete(Identity, { accountId, id });
  await recordEvent(tx, 'identity.deleted', { accountId, resourceId: id, metadata: { erased: true } });
  return true;
}

/** What is left of the person, in ids and numbers. */
export async function restOf(tx: EntityManager, identityId: string): Promise<ErasureRest> {
  const [rest] = await tx.query<ErasureRest[]>(
    `select (select count(*)::int from sessions where identity_id = $1) as sessions,
       (select coalesce(array_agg(environment_id order by environment_id), '{}') from environment_memberships where identity_id = $1) as environment_ids,
       exists (select from identities where id = $1) as identity`,
    [identityId],
  );
  return rest as ErasureRest;
}
