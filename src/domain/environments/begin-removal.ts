import type { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { Application } from '../../../entities/application.js';
import type { Environment } from '../../../entities/environment.js';
import { EnvironmentRemoval } from '../../../entities/environment-removal.js';
import { currentContext } from '../../platform/context.js';
import type { AccountScope } from '../../platform/scope.js';
import { announceCredentials } from '../cached-credentials.js';
import { forgetInLimits } from '../capabilities/forget-limits.js';
import { environmentDeleted } from '../emails/brand.js';
import { cancelPending } from '../emails/cancel.js';
import { recordEvent } from '../events/record.js';
import { startLater } from '../outbox.js';
import { silenceWebhooks } from '../webhooks/routes.js';
import { environmentRemovalInput } from './removal-process.js';

/**
 * Ends Environments that the caller has locked: from the commit on nobody finds them, signs in to them or uses their
 * keys or tokens, and their slugs are free. Their contents are deleted later, batch by batch. In a transaction of the
 * system, since afterwards they belong to no Account.
 */
export async function beginRemovals(
  tx: EntityManager,
  { accountId }: AccountScope,
  environments: readonly Environment[],
  now: Date,
): Promise<void> {
  if (environments.length === 0) return;
  for (const environment of environments) await beginRemoval(tx, environment, now);
  const ids = environments.map(({ id }) => id);
  await announceCredentials(tx);
  // Once for all of them, since it reads the limits of every administrator's role and invite in the Account.
  await forgetInLimits(tx, { accountId }, [...ids, ...(await limitingNodes(tx, accountId, ids))]);
}

async function beginRemoval(tx: EntityManager, environment: Environment, now: Date): Promise<void> {
  const { id: environmentId, accountId, applicationId, name, slug, type } = environment;
  const { correlationId, actor } = currentContext();
  const removal: EnvironmentRemoval = {
    id: uuidv7(),
    accountId,
    applicationId,
    environmentId,
    name,
    status: 'running',
    endedReason: null,
    rest: null,
    identitiesDeleted: 0,
    actorType: actor.type,
    actorId: actor.id,
    correlationId,
    createdAt: now,
    endedAt: null,
  };
  await tx.insert(EnvironmentRemoval, removal);
  await tx.query('update environments set account_id = null, application_id = null where id = $1', [environmentId]);
  await tx.query('delete from api_keys where environment_id = $1', [environmentId]);
  await tx.query('delete from scim_tokens where environment_id = $1', [environmentId]);
  await tx.query('delete from scim_group_mappings where environment_id = $1', [environmentId]);
  await silence(tx, removal, now);
  await startLater(tx, 'environmentRemoval', environmentRemovalInput(removal));
  await recordEvent(tx, 'environment.deleted', {
    accountId,
    applicationId,
    environmentId,
    resourceId: environmentId,
    resourceLabel: name,
    metadata: { slug, type },
  });
}

/**
 * Ends an Application whose Environments are under removal. Its row is deleted with the last of them, since their
 * contents refer to it.
 */
export async function beginApplicationRemoval(
  tx: EntityManager,
  { id, accountId, name, slug }: Application,
): Promise<void> {
  await tx.query('update applications set account_id = null where id = $1', [id]);
  await tx.query('update user_sessions set application_id = null where application_id = $1', [id]);
  await tx.query('delete from user_application_states where application_id = $1', [id]);
  await forgetInLimits(tx, { accountId }, [id]);
  await removeEmptyApplication(tx, id);
  await recordEvent(tx, 'application.deleted', {
    accountId,
    applicationId: id,
    resourceId: id,
    resourceLabel: name,
    metadata: { slug },
  });
}

/**
 * Locks an Application, as everybody does who ends it or deletes one of its Environments, even before it has ended: the
 * last one to get the lock sees that the others are done. Rows that only refer to the Application do not wait.
 * @returns the Account's id; null once the Application has ended; undefined if it was deleted
 */
export async function lockApplication(tx: EntityManager, id: string): Promise<string | null | undefined> {
  const [found] = await tx.query<{ accountId: string | null }[]>(
    'select account_id as "accountId" from applications where id = $1 for no key update',
    [id],
  );
  return found?.accountId;
}

/** Deletes an Application that has ended, once no Environment of it is left. */
export async function removeEmptyApplication(tx: EntityManager, id: string): Promise<void> {
  if ((await lockApplication(tx, id)) !== null) return;
  const [left] = await tx.query<unknown[]>(
    `select from environment_removals where application_id = $1 and status <> 'completed' limit 1`,
    [id],
  );
  if (!left) await tx.delete(Application, { id });
}

/** Stops everything that would still be sent: webhooks to receivers of its events, and mails to people. */
async function silence(
  tx: EntityManager,
  { accountId, environmentId }: Pick<EnvironmentRemoval, 'accountId' | 'environmentId'>,
  now: Date,
): Promise<void> {
  await silenceWebhooks(tx, { accountId, environmentId });
  await cancelPending(tx, { accountId, environmentId }, environmentDeleted, now);
}

/** Returns the nodes of these Environments that some administrator's role or invite is limited to: few of thousands. */
async function limitingNodes(
  tx: EntityManager,
  accountId: string,
  environmentIds: readonly string[],
): Promise<string[]> {
  const rows = await tx.query<{ id: string }[]>(
    `select n.id from nodes n join (
       select jsonb_array_elements_text(limits->'node_ids') as id from membership_roles where account_id = $1
       union select jsonb_array_elements_text(limits->'node_ids') from administrator_invites where account_id = $1
     ) named on named.id::uuid = n.id where n.environment_id = any($2)`,
    [accountId, environmentIds],
  );
  return rows.map(({ id }) => id);
}
