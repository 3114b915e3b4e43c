import type { EntityManager } from 'typeorm';
import { Environment } from '../../../entities/environment.js';
import { Node } from '../../../entities/node.js';
import { announceApiKeys } from '../api-keys/announce.js';
import { forgetInLimits } from '../capabilities/limits.js';
import { recordEvent } from '../events.js';

const itsIdentities = `account_id = $1 and id in (select identity_id from environment_memberships where environment_id = $2)`;

/**
 * Removes an Environment that the caller has locked, with everything in it: the database's cascades end keys, clients,
 * sessions, grants and memberships in the same transaction. The scope has to be the Account's, not the Environment's:
 * whether a person is somewhere else too is not to be seen from inside.
 */
export async function removeEnvironment(tx: EntityManager, environment: Environment): Promise<void> {
  const { id, accountId, applicationId, name, slug, type } = environment;
  // A row lock keeps a person from being given another membership between the look and the deletion.
  await tx.query(
    `select count(*) from (select from identities where ${itsIdentities} order by id for update) as locked`,
    [accountId, id],
  );
  // An identity goes with its last membership (contract §5); one of the directory only is not touched.
  const [, identitiesDeleted] = await tx.query<[unknown[], number]>(
    `delete from identities where ${itsIdentities} and not exists
       (select from environment_memberships elsewhere where elsewhere.identity_id = identities.id and elsewhere.environment_id <> $2)`,
    [accountId, id],
  );
  const nodes = await tx.find(Node, { where: { accountId, environmentId: id }, select: { id: true } });
  await tx.delete(Environment, { accountId, id });
  await announceApiKeys(tx);
  await forgetInLimits(tx, { accountId }, 'environment_ids', [id]);
  await forgetInLimits(
    tx,
    { accountId },
    'node_ids',
    nodes.map((node) => node.id),
  );
  await recordEvent(tx, 'environment.deleted', {
    accountId,
    applicationId,
    environmentId: id,
    resourceId: id,
    resourceLabel: name,
    metadata: { slug, type, identities_deleted: identitiesDeleted },
  });
}
