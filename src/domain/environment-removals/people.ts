import type { EntityManager } from 'typeorm';
import type { EnvironmentRemoval } from '../../../entities/environment-removal.js';
import { leaveEnvironment } from '../access/windows/rows.js';
import { forgetInvited } from '../erasures/forget-invited.js';
import { endGraces } from '../mfa/grace/end-graces.js';

type Of = Pick<EnvironmentRemoval, 'id' | 'accountId' | 'environmentId'>;

/** Tables of what a person has in an Environment besides sessions; each has an index on the person. */
const theirs = [
  'consents',
  'trusted_devices',
  'pending_sign_ins',
  'emailed_codes',
  'identity_links',
  'organization_members',
];

/**
 * Removes some people from the Environment, with all that they have in it. A person who is in no other Environment of
 * the Account is deleted, as at the end of any last membership (contract §5).
 * @returns whether there may be more
 */
export async function removePeople(
  tx: EntityManager,
  { id, accountId, environmentId }: Of,
  batchSize: number,
): Promise<boolean> {
  // The lock keeps a person from getting another membership between the check and the deletion.
  const people = await tx.query<{ id: string }[]>(
    `select id from identities where id in (
       select identity_id from environment_memberships where environment_id = $1 order by identity_id limit $2)
     order by id for update`,
    [environmentId, batchSize],
  );
  if (people.length === 0) return false;
  const ids = people.map((person) => person.id);
  if (await deleteSessions(tx, environmentId, ids, batchSize * 10)) return true;
  await leaveEnvironment(tx, environmentId, ids);
  await endGraces(tx, environmentId, ids);
  for (const table of [...theirs, 'role_assignments', 'environment_memberships']) {
    await tx.query(`delete from ${table} where environment_id = $1 and identity_id = any($2)`, [environmentId, ids]);
  }
  const left = await tx.query<{ id: string }[]>(
    `select id from identities where id = any($1)
       and not exists (select from environment_memberships elsewhere where elsewhere.identity_id = identities.id)`,
    [ids],
  );
  const gone = left.map((person) => person.id);
  await forgetInvited(tx, accountId, gone);
  await tx.query('delete from identities where id = any($1)', [gone]);
  await tx.query('update environment_removals set identities_deleted = identities_deleted + $2 where id = $1', [
    id,
    gone.length,
  ]);
  return true;
}

/**
 * Deletes sessions with grants, codes and tokens, of which a person can have many.
 * @returns whether there may be more
 */
async function deleteSessions(tx: EntityManager, environmentId: string, ids: string[], max: number): Promise<boolean> {
  const [, tokens] = await tx.query<[unknown[], number]>(
    `delete from refresh_tokens where ctid = any (array(select ctid from refresh_tokens where kind = 'grant' and family_id in (
       select id from grants where environment_id = $1 and identity_id = any($2)) limit $3))`,
    [environmentId, ids, max],
  );
  if (tokens === max) return true;
  // Codes and grants are deleted with their session.
  const [, sessions] = await tx.query<[unknown[], number]>(
    `delete from sessions where id in (select id from sessions where environment_id = $1 and identity_id = any($2) limit $3)`,
    [environmentId, ids, max],
  );
  return sessions === max;
}

/**
 * Deletes sessions that began through the Environment's connections and are left when its people are gone: those of
 * former members. A connection that is deleted with its organization would otherwise change all of them at once.
 * @returns whether there may be more
 */
export async function removeSessionsOfConnections(
  tx: EntityManager,
  { environmentId }: Of,
  batchSize: number,
): Promise<boolean> {
  const found = `select s.id from sso_connections c
      cross join lateral (select id from sessions where sso_connection_id = c.id and environment_id = $2 offset 0) s
    where c.environment_id = $2`;
  return deleteFoundSessions(tx, found, [batchSize, environmentId]);
}

/**
 * Deletes sessions of people who are no members any more. They are looked for person by person, since `sessions` has
 * neither an index on the Environment nor a foreign key (docs/decisions/0112).
 * @returns whether there may be more
 */
export async function removeFormerMembersSessions(
  tx: EntityManager,
  { accountId, environmentId }: Of,
  batchSize: number,
): Promise<boolean> {
  const found = `select s.id from identities i
      cross join lateral (select id from sessions where identity_id = i.id and environment_id = $2 offset 0) s
    where i.account_id = $3`;
  return deleteFoundSessions(tx, found, [batchSize, environmentId, accountId]);
}

/**
 * Deletes sessions, as many as a batch has.
 * @param found SQL for their ids; `$1` is the size of the batch
 * @returns whether there may be more
 */
async function deleteFoundSessions(
  tx: EntityManager,
  found: string,
  values: [batchSize: number, ...unknown[]],
): Promise<boolean> {
  const [, deleted] = await tx.query<[unknown[], number]>(
    `delete from sessions where id = any (array(${found} limit $1))`,
    values,
  );
  return deleted === values[0];
}
