import { randomUUID } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { AdministratorRole } from '../../entities/administrator-role.js';
import { User } from '../../entities/user.js';
import { provisionAccount } from '../../src/domain/accounts/provisioning.js';
import { createAdministratorInvites } from '../../src/domain/administrator-invites/administrator-invites.js';
import { createMailingInvite } from '../../src/domain/invites/mails-to-address.js';
import { hours } from '../../src/platform/clock.js';
import { workerBounds } from '../../src/worker/database-bounds.js';
import { asOwner, openTestDb, rowsAsOwner } from '../support/database.js';
import { type InviteProcesses, startInviteProcesses } from '../support/invite-processes.js';
import { lockWaits } from '../support/lock-waits.js';
import { until } from '../support/until.js';

let world: InviteProcesses;
beforeAll(async () => {
  world = await startInviteProcesses({ bounded: true });
});
afterAll(() => world?.stop());

async function newAccount() {
  const { db } = world.database;
  const now = new Date();
  const user = { id: uuidv7(), email: `${randomUUID()}@example.com`, firstName: 'Rosalind', lastName: 'Inviter' };
  const none = { passwordHash: null, passwordChangedAt: null, mfaResetAt: null };
  const { account, roleId } = await db.transaction('system', async (tx) => {
    await tx.insert(User, { ...user, ...none, emailVerifiedAt: now, createdAt: now, updatedAt: now });
    const names = { accountName: `Northwind ${randomUUID().slice(0, 8)}`, applicationName: 'Shop' };
    const { account } = await provisionAccount(tx, { userId: user.id, ...names, now });
    const where = { accountId: account.id, systemKey: 'viewer' } as const;
    return { account, roleId: (await tx.findOneByOrFail(AdministratorRole, where)).id };
  });
  const mailing = createMailingInvite({ db, rateLimits: false });
  const invites = createAdministratorInvites({
    db,
    sealing: world.services.sealing,
    now: () => new Date(),
    ttlMs: hours(1),
    mailing,
  });
  return {
    id: account.id,
    invite: () => {
      const person = {
        email: `ivo.${randomUUID()}@example.com`,
        firstName: 'Ivo',
        lastName: 'K',
        locale: 'en' as const,
      };
      return invites.create({ accountId: account.id }, user.id, { ...person, roleId, limits: null });
    },
  };
}

test('a lock on one account’s row delays no mail of another account', async () => {
  const [held, other] = [await newAccount(), await newAccount()];
  const invites = await Promise.all(Array.from({ length: 15 }, held.invite));
  for (const { id, email } of invites) {
    await world.mailTo(email, 'administrator-invite');
    await world.reaches(id, 'waiting');
  }
  await asOwner(async (client) => {
    await client.query(`begin; set local gatehouse.scope = 'system'`);
    await client.query('select from accounts where id = $1 for no key update', [held.id]);
    for (const { id } of invites) await world.handleOf(id).cancel();
    let most = 0;
    await until('an attempt was given up', async () => {
      most = Math.max(most, await lockWaits(world.database.ownerUrl));
      return hasWaited(invites);
    });
    expect([most > 0, most <= 7]).toEqual([true, true]); // of ten connections (docs/decisions/0114)
    await world.mailTo((await other.invite()).email, 'administrator-invite');
    await client.query('rollback');
  }, world.database.ownerUrl);
  for (const { id } of invites) await world.reaches(id, 'revoked');
});

/** Whether all of them have met the locked row: each gets its attempt, however few the connections are. */
async function hasWaited(invites: { id: string }[]): Promise<boolean> {
  const attempts = invites.map(async ({ id }) => {
    const { raw } = await world.handleOf(id).describe();
    return (raw.pendingActivities?.[0]?.attempt ?? 0) > 1;
  });
  return (await Promise.all(attempts)).every(Boolean);
}

test('a transaction of a worker that has died releases its rows', async () => {
  const { url, ownerUrl } = world.database;
  const account = await newAccount();
  // As a worker's bounds, except for the minute, which is too long for a test.
  const gone = await openTestDb(url, 1, { ...workerBounds, idleInTransactionWithinMs: 500 });
  const renamed = gone.transaction('system', async (tx) => {
    await tx.query('select from accounts where id = $1 for no key update', [account.id]);
    await until('somebody else gets the row', () =>
      rowsAsOwner(ownerUrl, `update accounts set name = 'Southwind' where id = '${account.id}' returning id`).then(
        ([row]) => row,
      ),
    );
    await tx.query(`update accounts set name = 'Westwind' where id = $1`, [account.id]);
  });
  await expect(renamed).rejects.toThrow();
  await gone.close();
  const [row] = await rowsAsOwner(ownerUrl, 'select name from accounts where id = $1', [account.id]);
  expect(row).toEqual({ name: 'Southwind' });
});

test('a worker waits for a locked row as long as its bounds allow, on each of its connections', async () => {
  const db = await openTestDb(world.database.url, 1, workerBounds);
  const text = `select current_setting('lock_timeout') as lock, current_setting('idle_in_transaction_session_timeout') as idle`;
  const bounds = { lock: '3s', idle: '1min' };
  expect(await db.statement({ name: 'bounds', text }, [])).toEqual([bounds]);
  expect(await db.transaction('system', (tx) => tx.query(text))).toEqual([bounds]);
  await db.close();
});
