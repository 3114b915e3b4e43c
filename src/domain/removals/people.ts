import type { EntityManager } from 'typeorm';
import type { EnvironmentRemoval } from '../../../entities/environment-removal.js';
import type { MfaGrace } from '../../../entities/mfa-grace.js';
import { leaveEnvironment } from '../access/window-rows.js';
import { processInput } from '../mfa/grace-rules.js';
import { startAllLater } from '../outbox.js';

type Of = Pick<EnvironmentRemoval, 'id' | 'environmentId'>;

/** What a person has in an Environment beside sessions; each has an index on the person. */
const theirs = [
  'consents',
  'trusted_devices',
  'pending_sign_ins',
  'emailed_codes',
  'identity_links',
  'organization_members',
];

/**
 * Takes some people out of the Environment, with all that they have in it. Who is in no other Environment of the Account is
 * deleted, as by their last membership's end (contract §5).
 * @returns whether there may be more
 */
export async function removePeople(tx: EntityManager, { id, environmentId }: Of, batchSize: number): Promise<boolean> {
  // A lock keeps a person from being given another membership between the look and the deletion.
  const people = await tx.query<{ id: string }[]>(
    `select id from identities where id in (
       select identity_id from environment_memberships where environment_id = $1 order by identity_id limit $2)
     order by id for update`,
    [environmentId, batchSize],
  );
  if (people.length === 0) return false;
  const ids = people.map((person) => person.id);
  if (await endSessions(tx, environmentId, ids, batchSize * 10)) return true;
  await leaveEnvironment(tx, environmentId, ids);
  await endGraces(tx, environmentId, ids);
  for (const table of [...theirs, 'role_assignments', 'environment_memberships']) {
    await tx.query(`delete from ${table} where environment_id = $1 and identity_id = any($2)`, [environmentId, ids]);
  }
  const [, deleted] = await tx.query<[unknown[], number]>(
    `delete from identities where id = any($1)
       and not exists (select from environment_memberships elsewhere where elsewhere.identity_id = identities.id)`,
    [ids],
  );
  await tx.query('update environment_removals set identities_deleted = identities_deleted + $2 where id = $1', [
    id,
    deleted,
  ]);
  return true;
}

/** With grants, codes and tokens, which can be many for one person. @returns whether there may be more */
async function endSessions(tx: EntityManager, environmentId: string, ids: string[], most: number): Promise<boolean> {
  const [, tokens] = await tx.query<[unknown[], number]>(
    `delete from refresh_tokens where ctid = any (array(select ctid from refresh_tokens where kind = 'grant' and family_id in (
       select id from grants where environment_id = $1 and identity_id = any($2)) limit $3))`,
    [environmentId, ids, most],
  );
  if (tokens === most) return true;
  // Codes and grants go with their session.
  const [, sessions] = await tx.query<[unknown[], number]>(
    `delete from sessions where id in (select id from sessions where environment_id = $1 and identity_id = any($2) limit $3)`,
    [environmentId, ids, most],
  );
  return sessions === most;
}

/** Their processes look for the rows, and end. */
async function endGraces(tx: EntityManager, environmentId: string, ids: string[]): Promise<void> {
  type Row = Pick<MfaGrace, 'id' | 'accountId' | 'environmentId' | 'identityId' | 'status'>;
  const [graces] = await tx.query<[Row[], number]>(
    `delete from mfa_graces where environment_id = $1 and identity_id = any($2)
     returning id, account_id as "accountId", environment_id as "environmentId", identity_id as "identityId", status`,
    [environmentId, ids],
  );
  const running = graces.filter(({ status }) => status === 'running');
  await startAllLater(
    tx,
    'mfaGrace',
    running.map((row) => processInput(row, 'policyChanged')),
  );
}
