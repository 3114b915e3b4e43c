import type { EntityManager } from 'typeorm';
import type { Erasure, ErasureRest } from '../../../entities/erasure.js';
import { Identity } from '../../../entities/identity.js';
import { lockAssignments } from '../access/assignments/removing.js';
import { leaveIdentity } from '../access/windows/rows.js';
import { recordEvent } from '../events/record.js';
import { addToCounter } from '../lists/counters.js';
import { leaveOrganizations } from '../organizations/members.js';
import { forgetInvited } from './forget-invited.js';

// Each step can be repeated: the second time it finds nothing to delete.

/** Deactivates the person's memberships and revokes sessions and grants, in the transaction of the request. */
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

/** Deletes a batch of tokens, then of sessions. @returns whether there may be more */
export async function deleteSessions(tx: EntityManager, identityId: string, batchSize: number): Promise<boolean> {
  const [, tokens] = await tx.query<[unknown[], number]>(
    `delete from refresh_tokens where ctid = any (array(select ctid from refresh_tokens
       where kind = 'grant' and family_id in (select id from grants where identity_id = $1) limit $2))`,
    [identityId, batchSize],
  );
  if (tokens === batchSize) return true;
  // Codes and grants are deleted with their session.
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

/** Removes a batch of memberships, each with its counter and event. @returns whether there may be more */
export async function removeMemberships(
  tx: EntityManager,
  { accountId, identityId }: Pick<Erasure, 'accountId' | 'identityId'>,
  batchSize: number,
): Promise<boolean> {
  // A deletion from one Environment takes the same lock: otherwise both would change the counter and record the event.
  await tx.query('select from identities where account_id = $1 and id = $2 for update', [accountId, identityId]);
  const [left] = await tx.query<[Left[], number]>(
    `delete from environment_memberships where id in (
       select id from environment_memberships where identity_id = $1 order by environment_id limit $2)
     returning environment_id as "environmentId",
       (select application_id from environments where id = environment_id) as "applicationId"`,
    [identityId, Math.min(batchSize, 100)],
  );
  // Always in the same order, so that two erasures that change the same counters cannot deadlock.
  for (const place of left.toSorted((a, b) => a.environmentId.localeCompare(b.environmentId))) {
    const scope = { accountId, ...place };
    await leaveOrganizations(tx, scope, identityId);
    await addToCounter(tx, scope, 'identities', -1);
    await recordEvent(tx, 'identity.deleted', { ...scope, resourceId: identityId });
  }
  return left.length === Math.min(batchSize, 100);
}

/**
 * Deletes the profile with what refers to it, and records that once for the Account.
 * @returns false if it has a membership (again): those are removed first, each with its counter and event
 */
export async function removeIdentity(
  tx: EntityManager,
  { accountId, identityId: id }: Pick<Erasure, 'accountId' | 'identityId'>,
): Promise<boolean> {
  // From here on the lock keeps others from adding a membership.
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

/** Returns what is left of the person, in ids and numbers. */
export async function restOf(tx: EntityManager, identityId: string): Promise<ErasureRest> {
  const [rest] = await tx.query<ErasureRest[]>(
    `select (select count(*)::int from sessions where identity_id = $1) as sessions,
       (select coalesce(array_agg(environment_id order by environment_id), '{}') from environment_memberships
        where identity_id = $1) as environment_ids,
       exists (select from identities where id = $1) as identity`,
    [identityId],
  );
  return rest as ErasureRest;
}
