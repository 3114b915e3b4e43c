import { randomBytes, randomUUID } from 'node:crypto';
import { User } from '../../entities/user.js';
import { provisionAccount } from '../../src/domain/accounts/provisioning.js';
import { createIdentityInviteAcceptance } from '../../src/domain/identity-invites/acceptance.js';
import { createIdentityInvites } from '../../src/domain/identity-invites/identity-invites.js';
import { identityInviteToken } from '../../src/domain/identity-invites/link.js';
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

const now = () => new Date();

async function newPlace(ttlMs: number) {
  const { db } = world.database;
  const userId = randomUUID();
  const at = now();
  const { account, application, environments } = await db.transaction('system', async (tx) => {
    await tx.insert(User, {
      id: userId,
      email: `${userId}@example.com`,
      firstName: 'Rosalind',
      lastName: 'Inviter',
      passwordHash: null,
      passwordChangedAt: null,
      emailVerifiedAt: at,
      createdAt: at,
      updatedAt: at,
    });
    const accountName = `Northwind ${randomBytes(4).toString('hex')}`;
    return provisionAccount(tx, { userId, accountName, applicationName: 'Shop', now: at });
  });
  const scope = { accountId: account.id, applicationId: application.id, environmentId: environments.development.id };
  const caller = { type: 'platform_admin' as const, userId, sessionId: '', capabilities: [], roles: [] };
  // No invite here offers a role.
  const assignments = { assertMayGrant: () => Promise.reject(new Error('no role is offered')) };
  const mailing = createMailingInvite({ db, rateLimits: false });
  const invites = createIdentityInvites({ db, sealing: world.services.sealing, assignments, now, ttlMs, mailing });
  const person = { firstName: 'Ivo', lastName: 'Kernseif', roleId: null, nodeId: null, locale: 'de' as const };
  return {
    scope,
    caller,
    invites,
    invite: (intent: 'activate' | 'directory' = 'activate') =>
      invites.create(scope, caller, { ...person, intent, email: `ivo.${randomUUID()}@example.com` }),
  };
}

test('an invite is mailed and accepted, and its process ends; no history identifies the invited person', async () => {
  const place = await newPlace(hours(1));
  const made = await place.invite();
  const mail = await world.mailTo(made.email, 'identity-invite');
  const { token } = identityInviteToken(world.services.sealing, { id: made.id, linkNumber: 1 });
  expect(mail.values).toEqual({
    first_name: 'Ivo',
    place_name: 'Shop',
    inviter: 'Rosalind Inviter',
    link: `https://id.example.com/oauth/invite?token=${token}`,
    expires_at_text: expect.stringContaining('UTC'),
  });
  await world.reaches(made.id, 'waiting');
  const { typedSearchAttributes } = await world.handleOf(made.id).describe();
  for (const id of [made.id, place.scope.accountId, place.scope.environmentId])
    expect(JSON.stringify(typedSearchAttributes)).toContain(id);

  const passwords = createPasswords({ breachUrl: null });
  const acceptance = createIdentityInviteAcceptance({ db: world.database.db, passwords, now });
  await acceptance.accept({ token, password: 'violet tractor 19' });
  expect(await world.handleOf(made.id).result()).toBe('accepted');

  const secrets = [made.email, 'Ivo', 'Kernseif', 'Rosalind', token, 'violet'];
  for await (const { workflowId } of world.temporal.client.workflow.list()) {
    const text = await historyText(world.temporal.client.workflow.getHandle(workflowId));
    for (const secret of secrets) expect(text).not.toContain(secret);
  }
});

test('an invite expires at its time with one event; resent, it waits again under the same workflow id', async () => {
  const place = await newPlace(2_000);
  const made = await place.invite();
  await world.reaches(made.id, 'expired');
  expect(await place.invites.get(place.scope, made.id)).toMatchObject({
    status: 'expired',
    endedReason: 'not_accepted_in_time',
  });
  await place.invites.resend(place.scope, place.caller, made.id);
  const happened = async () =>
    (
      await rowsAsOwner(
        world.database.ownerUrl,
        `select action from events where resource_id = $1 and action like 'identity_invite.%' order by created_at`,
        [made.id],
      )
    ).map(({ action }) => String(action).replace('identity_invite.', ''));
  await until('it has expired again', async () => (await happened()).length === 4);
  expect(await happened()).toEqual(['created', 'expired', 'resent', 'expired']);
  await world.reaches(made.id, 'expired');
});

test('an invite that an operator cancels is revoked in its row', async () => {
  const place = await newPlace(hours(1));
  const made = await place.invite('directory');
  await world.reaches(made.id, 'waiting');
  await world.handleOf(made.id).cancel();
  await expect(world.handleOf(made.id).result()).rejects.toThrow(/cancelled/);
  expect(await place.invites.get(place.scope, made.id)).toMatchObject({
    status: 'revoked',
    endedReason: 'cancelled_by_operator',
  });
  const events = await rowsAsOwner(
    world.database.ownerUrl,
    `select metadata, actor_type from events where resource_id = $1 and action like '%.revoked'`,
    [made.id],
  );
  expect(events).toEqual([
    { metadata: { intent: 'directory', reason: 'cancelled_by_operator' }, actor_type: 'system' },
  ]);
});

test('a resent invite is mailed again; revoked where it was made, its process ends', async () => {
  const place = await newPlace(hours(1));
  const made = await place.invite();
  await world.reaches(made.id, 'waiting');
  await world.mailTo(made.email, 'identity-invite');
  await place.invites.resend(place.scope, place.caller, made.id);
  await world.mailTo(made.email, 'identity-invite', 2);
  await place.invites.revoke(place.scope, made.id);
  expect(await world.handleOf(made.id).result()).toBe('revoked');
});

test('the reminder is mailed once for each link while the invite is open', async () => {
  const place = await newPlace(hours(1));
  const made = await place.invite();
  const { identity } = world.services.invites;
  for (let i = 0; i < 3; i++) await identity.remind(made.id);
  await world.mailTo(made.email, 'identity-invite-reminder');
  await world.delivered();
  expect(world.mailsTo(made.email, 'identity-invite-reminder')).toHaveLength(1);
  await place.invites.revoke(place.scope, made.id);
  for (const repeated of [identity.remind(made.id), identity.cancel(made.id, 'x'), identity.expire(made.id)])
    expect(await repeated).toMatchObject({ status: 'revoked' });
  expect(await identity.read(randomUUID())).toMatchObject({ status: 'revoked' });
});
