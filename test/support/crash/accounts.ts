import { randomBytes, randomUUID } from 'node:crypto';
import { AdministratorRole } from '../../../entities/administrator-role.js';
import { provisionAccount } from '../../../src/domain/accounts/provisioning.js';
import { createAdministratorInvites } from '../../../src/domain/administrator-invites/administrator-invites.js';
import { createEnvironments } from '../../../src/domain/environments/environments.js';
import { createErasures, erasureInput } from '../../../src/domain/erasures/erasures.js';
import { createIdentityInvites } from '../../../src/domain/identity-invites/identity-invites.js';
import { createMailingInvite } from '../../../src/domain/invites/mails-to-address.js';
import { createMfaGraces } from '../../../src/domain/mfa/grace/grace.js';
import { days, hours, seconds } from '../../../src/platform/clock.js';
import {
  environmentRemovalId,
  identityErasureId,
  inviteId,
  mfaGraceId,
  roleAssignmentWindowId,
} from '../../../workflows/ids.js';
import { aHolder, assignWindow } from '../role-windows.js';
import { mailSent, outcomeOf } from './outcome.js';
import { soon } from './registrations.js';
import { type Begin, type CrashWorld, graceReminderMs } from './world.js';

const now = () => new Date();

export async function anAccount({ query, database }: CrashWorld) {
  const userId = randomUUID();
  await query(
    `insert into users (id, email, first_name, last_name, created_at, updated_at) values ($1, $2, 'O', 'Wner', now(), now())`,
    userId,
    `${userId}@example.com`,
  );
  return database.db.transaction('system', async (tx) => {
    const names = { accountName: `Northwind ${randomBytes(4).toString('hex')}`, applicationName: 'Shop' };
    const { account, application, environments } = await provisionAccount(tx, { userId, ...names, now: now() });
    const viewer = await tx.findOneByOrFail(AdministratorRole, { accountId: account.id, systemKey: 'viewer' });
    const place = { accountId: account.id, applicationId: application.id, environmentId: environments.development.id };
    return { ...place, userId, roleId: viewer.id };
  });
}

/** Creates an invite that is valid for `ttlMs`. */
type Invite = (
  world: CrashWorld,
  account: Awaited<ReturnType<typeof anAccount>>,
  asked: { email: string; ttlMs: number },
) => Promise<{ id: string }>;

const anAdministrator: Invite = ({ database: { db }, sealing }, { accountId, userId, roleId }, { email, ttlMs }) =>
  createAdministratorInvites({
    db,
    sealing,
    now,
    ttlMs,
    mailing: createMailingInvite({ db, rateLimits: false }),
  }).create({ accountId }, userId, {
    email,
    firstName: 'Ivo',
    lastName: 'Kernseif',
    locale: 'en',
    roleId,
    limits: null,
  });
const anEndUser: Invite = ({ database: { db }, sealing }, { userId, ...scope }, { email, ttlMs }) => {
  const assignments = { assertMayGrant: () => Promise.reject(new Error('no role is offered')) };
  const caller = { type: 'platform_admin', userId, sessionId: '', capabilities: [], roles: [] } as const;
  return createIdentityInvites({
    db,
    sealing,
    assignments,
    now,
    ttlMs,
    mailing: createMailingInvite({ db, rateLimits: false }),
  }).create(scope, caller, {
    intent: 'activate',
    email,
    firstName: 'Ida',
    lastName: null,
    roleId: null,
    nodeId: null,
    locale: 'en',
  });
};

export const inviteRun =
  (
    deaths: readonly string[],
    {
      afterMs,
      reminded = false,
      of = { table: 'administrator_invites', invite: anAdministrator },
      act,
    }: {
      afterMs: number;
      reminded?: boolean;
      of?: { table: string; invite: Invite };
      act?(world: CrashWorld, id: string): Promise<unknown>;
    },
  ): Begin =>
  async (world) => {
    const account = await anAccount(world);
    const { accountId } = account;
    const ttlMs = world.paced(afterMs) + (reminded ? days(2) : 0); // the reminder is sent two days before the end
    const email = `ivo.${randomUUID()}@example.com`;
    const { id } = await of.invite(world, account, { email, ttlMs });
    const workflowId = inviteId(id);
    const row = { table: of.table, id, columns: 'status, ended_reason' };
    return {
      workflowId,
      deaths,
      ...(act && { act: () => act(world, id) }),
      left: () => outcomeOf(world, { workflowId, row, address: email, ids: async () => [accountId] }),
    };
  };
const cancelReminded = async (world: CrashWorld, id: string) => {
  await mailSent(world, id, '%-reminder');
  await world.temporal.client.workflow.getHandle(inviteId(id)).cancel();
};

/** Creates an Identity with a session, in an Environment. */
async function anIdentity(world: CrashWorld) {
  const { query } = world;
  const scope = await anAccount(world);
  const { accountId, environmentId } = scope;
  const [id, email] = [randomUUID(), `grace.${randomUUID()}@example.com`];
  await query(
    `insert into identities (id, account_id, email, metadata, created_at, updated_at) values ($1, $2, $3, '{}', now(), now())`,
    id,
    accountId,
    email,
  );
  await query(
    `insert into environment_memberships (id, account_id, environment_id, identity_id, is_active, created_at) values ($1, $2, $3, $4, true, now())`,
    randomUUID(),
    accountId,
    environmentId,
    id,
  );
  await query(
    `insert into sessions (id, account_id, environment_id, identity_id, browser_hash, authenticated_at, amr, acr, created_at, expires_at)
     values ($1, $2, $3, $4, $5, now(), '{pwd}', 'x', now(), now() + interval '1 day')`,
    randomUUID(),
    accountId,
    environmentId,
    id,
    randomBytes(32),
  );
  return { scope, id, email };
}

const graceRun =
  (
    deaths: readonly string[],
    forMs: number,
    act?: (world: CrashWorld, workflowId: string) => Promise<unknown>,
  ): Begin =>
  async (world) => {
    const { database, query } = world;
    const { scope, id, email } = await anIdentity(world);
    const graces = createMfaGraces({ db: database.db, now, reminders: [] });
    await query(
      `update environment_settings set mfa_policy = 'required' where environment_id = $1`,
      scope.environmentId,
    );
    await graces.start(scope, id, world.paced(forMs) / days(1));
    const [grace] = await query('select id from mfa_graces where identity_id = $1', id);
    const workflowId = mfaGraceId(scope.environmentId, id);
    const row = { table: 'mfa_graces', id: grace?.id as string, columns: 'status, ended_reason, round' };
    return {
      workflowId,
      deaths,
      ...(act && { act: () => act(world, workflowId) }),
      left: () => outcomeOf(world, { workflowId, row, address: email, ids: async () => [id, scope.accountId] }),
    };
  };
/** Cancels a run; a waiting run sets its search attribute at its start, and before that there is nothing to cancel. */
export const cancelStarted = async ({ temporal, statusOf, awaits }: CrashWorld, workflowId: string) => {
  await awaits('it runs', async () => (await statusOf(workflowId)) === 'RUNNING');
  await temporal.client.workflow.getHandle(workflowId).cancel();
};

const windowRun =
  (
    deaths: readonly string[],
    forMs: number,
    act?: (world: CrashWorld, workflowId: string) => Promise<unknown>,
  ): Begin =>
  async (world) => {
    const holder = await aHolder(world.database);
    const to = new Date(Date.now() + world.paced(forMs));
    const { id } = await assignWindow(world.database, holder, { to });
    const workflowId = roleAssignmentWindowId(id);
    const row = { table: 'role_assignment_windows', id, columns: 'status, ended_reason' };
    return {
      workflowId,
      deaths,
      ...(act && { act: () => act(world, workflowId) }),
      left: () => outcomeOf(world, { workflowId, row, ids: async () => [holder.scope.accountId] }),
    };
  };

const erasureRun =
  (deaths: readonly string[], { cancelled }: { cancelled: boolean }): Begin =>
  async (world) => {
    const { database, processes, query } = world;
    const { scope, id } = await anIdentity(world);
    const erasure = await createErasures({ db: database.db, now }).request(scope, id);
    const workflowId = identityErasureId(erasure.id);
    if (cancelled) {
      await processes.start('identityErasure', erasureInput(erasure)); // before its first step: there is no worker yet
      await processes.client.workflow.getHandle(workflowId).cancel();
    }
    const row = {
      table: 'erasures',
      id: erasure.id,
      columns: `status, ended_reason, rest ->> 'sessions' as sessions, rest ->> 'identity' as identity`,
    };
    return {
      workflowId,
      deaths,
      async left() {
        const outcome = await outcomeOf(world, { workflowId, row, ids: async () => [id, scope.accountId] });
        const [rest] = await query(
          `select (select count(*)::int from identities where id = $1) as identities,
             (select count(*)::int from environment_memberships where identity_id = $1) as memberships,
             (select count(*)::int from sessions where identity_id = $1) as sessions`,
          id,
        );
        return { ...outcome, ...rest };
      },
    };
  };

const removalRun =
  (deaths: readonly string[], { cancelled }: { cancelled: boolean }): Begin =>
  async (world) => {
    const { database, processes, query } = world;
    const { scope, id } = await anIdentity(world);
    const { accountId, environmentId } = scope;
    const environments = createEnvironments({ db: database.db, now });
    await environments.remove(scope, (await environments.get(scope)).slug);
    const [removal] = await query('select id from environment_removals where environment_id = $1', environmentId);
    const removalId = removal?.id as string;
    const workflowId = environmentRemovalId(removalId);
    if (cancelled) {
      await processes.start('environmentRemoval', { removalId, accountId, environmentId });
      await processes.client.workflow.getHandle(workflowId).cancel();
    }
    const row = {
      table: 'environment_removals',
      id: removalId,
      columns: 'status, ended_reason, rest, identities_deleted',
    };
    return {
      workflowId,
      deaths,
      async left() {
        const outcome = await outcomeOf(world, { workflowId, row, ids: async () => [accountId] });
        const [rest] = await query(
          `select (select count(*)::int from environments where id = $1) as environments,
             (select count(*)::int from identities where id = $2) as identities,
             (select count(*)::int from sessions where environment_id = $1) as sessions`,
          environmentId,
          id,
        );
        return { ...outcome, ...rest };
      },
    };
  };

export const accountRuns = {
  'an invite, reminded of and cancelled': inviteRun(['remindOfInvite', 'cancelInvite'], {
    afterMs: seconds(25),
    reminded: true,
    act: cancelReminded,
  }),
  'an invite that expires': inviteRun(['readInvite', 'expireInvite'], { afterMs: soon }),
  'an invite of an end user that expires': inviteRun(['readInvite', 'expireInvite'], {
    afterMs: soon,
    of: { table: 'identity_invites', invite: anEndUser },
  }),
  'a grace, reminded of and over': graceRun(
    ['advanceGrace', 'advanceGrace', 'advanceGrace'],
    graceReminderMs + seconds(30),
  ),
  'a grace that an operator cancels': graceRun(['cancelGrace'], hours(1), cancelStarted),
  'a role for a time, announced and over': windowRun(
    ['advanceRoleWindow', 'advanceRoleWindow', 'advanceRoleWindow'],
    graceReminderMs + seconds(30),
  ),
  'a role for a time whose events an operator cancels': windowRun(['cancelRoleWindow'], hours(1), cancelStarted),
  'an erasure': erasureRun(['endErasedSessions', 'removeErasedMemberships', 'completeErasure'], { cancelled: false }),
  'an erasure that an operator cancels': erasureRun(['cancelErasure'], { cancelled: true }),
  'the removal of an environment': removalRun(['removeEnvironmentContents', 'completeEnvironmentRemoval'], {
    cancelled: false,
  }),
  'the removal of an environment that an operator cancels': removalRun(['cancelEnvironmentRemoval'], {
    cancelled: true,
  }),
} satisfies Record<string, Begin>;
