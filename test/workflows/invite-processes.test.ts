import { randomBytes, randomUUID } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { AdministratorRole } from '../../entities/administrator-role.js';
import { User } from '../../entities/user.js';
import { provisionAccount } from '../../src/domain/accounts/provisioning.js';
import { createInviteAcceptance } from '../../src/domain/administrator-invites/acceptance.js';
import { createAdministratorInvites } from '../../src/domain/administrator-invites/administrator-invites.js';
import { administratorInviteToken } from '../../src/domain/administrator-invites/link.js';
import { createMailingInvite } from '../../src/domain/invites/mails-to-address.js';
import { createPasswords } from '../../src/domain/passwords/passwords.js';
import { hours } from '../../src/platform/clock.js';
import { rowsAsOwner } from '../support/database.js';
import { type InviteProcesses, startInviteProcesses } from '../support/invite-processes.js';
import { historyText } from '../support/temporal.js';
import { until } from '../support/until.js';

let world: InviteProcesses;
beforeAll(async () => {
  world = await startInviteProcesses();
});
afterAll(() => world?.stop());

async function newAccount(ttlMs: number) {
  const { db } = world.database;
  const { sealing } = world.services;
  const now = new Date();
  const user: User = {
    id: uuidv7(),
    email: `${randomUUID()}@example.com`,
    firstName: 'Rosalind',
    lastName: 'Inviter',
    passwordHash: null,
    passwordChangedAt: null,
    mfaResetAt: null,
    emailChangedAt: null,
    emailVerifiedAt: now,
    createdAt: now,
    updatedAt: now,
  };
  const made = await db.transaction('system', async (tx) => {
    await tx.insert(User, user);
    const { account } = await provisionAccount(tx, {
      userId: user.id,
      accountName: `Northwind ${randomBytes(4).toString('hex')}`,
      applicationName: 'Shop',
      now,
    });
    const viewer = await tx.findOneByOrFail(AdministratorRole, { accountId: account.id, systemKey: 'viewer' });
    return { account, roleId: viewer.id };
  });
  const mailing = createMailingInvite({ db, rateLimits: false });
  const invites = createAdministratorInvites({ db, sealing, now: () => new Date(), ttlMs, mailing });
  const scope = { accountId: made.account.id };
  return {
    ...made,
    scope,
    invites,
    userId: user.id,
    invite: () => {
      const email = `ivo.${randomUUID()}@example.com`;
      const person = { email, firstName: 'Ivo', lastName: 'Kernseif', locale: 'en' as const };
      return invites.create(scope, user.id, { ...person, roleId: made.roleId, limits: null });
    },
  };
}

test('an invite is mailed and accepted, and its process ends; no history identifies the invited person', async () => {
  const account = await newAccount(hours(1));
  const made = await account.invite();
  const mail = await world.mailTo(made.email, 'administrator-invite');
  const { token } = administratorInviteToken(world.services.sealing, { id: made.id, linkNumber: 1 });
  expect(mail).toMatchObject({
    name: 'administrator-invite',
    values: {
      first_name: 'Ivo',
      account_name: account.account.name,
      inviter: 'Rosalind Inviter',
      role: 'Viewer',
      link: `https://id.example.com/v1/auth/accept-invite?token=${token}`,
    },
  });
  await world.reaches(made.id, 'waiting');
  const { typedSearchAttributes } = await world.handleOf(made.id).describe();
  for (const id of [made.id, account.account.id]) expect(JSON.stringify(typedSearchAttributes)).toContain(id);

  const passwords = createPasswords({ breachUrl: null });
  const acceptance = createInviteAcceptance({ db: world.database.db, passwords, now: () => new Date() });
  await acceptance.accept({ token, firstName: 'Ivo', lastName: 'Kernseif', password: 'violet tractor 19' });
  expect(await world.handleOf(made.id).result()).toBe('accepted');

  const secrets = [made.email, 'Ivo', 'Kernseif', 'Rosalind', account.account.name, token, 'violet'];
  for await (const { workflowId } of world.temporal.client.workflow.list()) {
    const text = await historyText(world.temporal.client.workflow.getHandle(workflowId));
    for (const secret of secrets) expect(text).not.toContain(secret);
  }
});

test('an invite expires at its time with one event; resent, it waits again under the same workflow id', async () => {
  const account = await newAccount(2_000);
  const made = await account.invite();
  await world.reaches(made.id, 'expired');
  const [row] = await rowsAsOwner(
    world.database.ownerUrl,
    'select status, ended_reason from administrator_invites where id = $1',
    [made.id],
  );
  expect(row).toEqual({ status: 'expired', ended_reason: 'not_accepted_in_time' });

  await account.invites.resend(account.scope, account.userId, made.id);
  await until('it has expired again', () => endedTwice(made.id));
  await world.reaches(made.id, 'expired');
  const events = await rowsAsOwner(
    world.database.ownerUrl,
    `select action, actor_type from events where resource_id = $1 and action like 'administrator_invite.%' order by created_at`,
    [made.id],
  );
  expect(events.map(({ action }) => action)).toEqual(
    ['created', 'expired', 'resent', 'expired'].map((what) => `administrator_invite.${what}`),
  );
});

const endedTwice = async (id: string) =>
  (
    await rowsAsOwner(
      world.database.ownerUrl,
      `select from events where resource_id = $1 and action like '%.expired'`,
      [id],
    )
  ).length === 2;

test('an invite that an operator cancels is revoked in its row; a signal to its ended process is no error', async () => {
  const account = await newAccount(hours(1));
  const made = await account.invite();
  await world.reaches(made.id, 'waiting');
  await world.handleOf(made.id).cancel();
  await expect(world.handleOf(made.id).result()).rejects.toThrow(/cancelled/);
  expect(await account.invites.get(account.scope, made.id)).toMatchObject({
    status: 'revoked',
    endedReason: 'cancelled_by_operator',
  });
  const [event] = await rowsAsOwner(
    world.database.ownerUrl,
    `select metadata, actor_type from events where action like '%.revoked'`,
  );
  expect(event).toEqual({ metadata: { reason: 'cancelled_by_operator' }, actor_type: 'system' });

  const second = await account.invite();
  await world.reaches(second.id, 'waiting');
  await world.handleOf(second.id).terminate('by mistake');
  await account.invites.revoke(account.scope, account.userId, second.id);
  await world.delivered(); // the signal found no workflow, and nothing is left to do
  expect((await world.handleOf(second.id).describe()).status.name).toBe('TERMINATED');
});

test('a resent invite whose process was terminated gets a new process, and its link is mailed again', async () => {
  const account = await newAccount(hours(1));
  const made = await account.invite();
  await world.mailTo(made.email, 'administrator-invite');
  await world.reaches(made.id, 'waiting');
  await world.handleOf(made.id).terminate('by mistake');
  const { expiresAt } = await account.invites.resend(account.scope, account.userId, made.id);
  await until('it runs again', async () => (await world.handleOf(made.id).describe()).status.name === 'RUNNING');
  expect(await historyText(world.handleOf(made.id))).toContain(expiresAt.toISOString());
  await world.mailTo(made.email, 'administrator-invite', 2);
  await account.invites.revoke(account.scope, account.userId, made.id);
  expect(await world.handleOf(made.id).result()).toBe('revoked');
});

test('the reminder is mailed once for each link while the invite is open', async () => {
  const account = await newAccount(hours(1));
  const made = await account.invite();
  const { administrator } = world.services.invites;
  for (let i = 0; i < 3; i++) await administrator.remind(made.id);
  await world.mailTo(made.email, 'administrator-invite-reminder');
  await world.delivered();
  expect(world.mailsTo(made.email, 'administrator-invite-reminder')).toHaveLength(1);
  await account.invites.revoke(account.scope, account.userId, made.id);
  expect(await administrator.remind(made.id)).toMatchObject({ status: 'revoked' });
  expect(await administrator.cancel(made.id, 'x')).toMatchObject({ status: 'revoked' });
  expect(await administrator.expire(made.id)).toMatchObject({ status: 'revoked' });
  expect(await administrator.read(randomUUID())).toMatchObject({ status: 'revoked' });
});
