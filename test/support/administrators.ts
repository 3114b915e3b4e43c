import { randomBytes } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { AdministratorRole, type AdministratorRoleKey } from '../../entities/administrator-role.js';
import { Membership } from '../../entities/membership.js';
import { MembershipRole, type RoleLimits } from '../../entities/membership-role.js';
import { User } from '../../entities/user.js';
import { UserSession } from '../../entities/user-session.js';
import { administratorInviteToken } from '../../src/domain/administrator-invites/link.js';
import { createSigningKeys } from '../../src/domain/oidc/keys.js';
import { createAdminTokens } from '../../src/domain/users/admin-tokens.js';
import { createSealing } from '../../src/platform/crypto/sealing.js';
import { baseUrl, type TestAccount, type TestApi } from './api.js';
import { type Call, callsOf } from './calls.js';

export const sealing = createSealing([{ id: 'test', key: Buffer.alloc(32, 7) }]); // the api's key

export interface TestMember {
  membershipId: string;
  userId: string;
  email: string;
  headers: Record<string, string>;
  call: Call;
}

type Person = Pick<TestMember, 'userId' | 'email' | 'headers'>;
type Clocked = Pick<TestApi, 'database' | 'clock'>;

/** Creates a signed-in administrator of an Account; one person may be an administrator of several. */
export async function newMember(
  api: TestApi,
  account: TestAccount,
  role: AdministratorRoleKey | { roleId: string },
  person?: Person,
  limits: Partial<RoleLimits> | null = null,
): Promise<TestMember> {
  const { db } = api.database;
  const { userId, email, headers } = person ?? (await newPerson(api));
  const { accountId } = account.scope;
  const membershipId = uuidv7();
  await db.transaction('system', async (tx) => {
    await tx.insert(Membership, { id: membershipId, accountId, userId, createdAt: api.clock.now });
    const roleId =
      typeof role === 'string'
        ? (await tx.findOneByOrFail(AdministratorRole, { accountId, systemKey: role })).id
        : role.roleId;
    const stored = limits && { application_ids: [], environment_ids: [], node_ids: [], ...limits };
    await tx.insert(MembershipRole, { membershipId, roleId, accountId, limits: stored });
  });
  return { membershipId, userId, email, headers, call: callsOf(api, account.accountSlug, headers) };
}

/** Creates a User with a live session that is not bound to any credential. */
export async function newPerson({ database, clock }: Clocked, user: Partial<User> = {}) {
  const [{ db }, { now }] = [database, clock];
  const userId = uuidv7();
  const email = `mia.${randomBytes(6).toString('hex')}@example.com`;
  await db.transaction('system', async (tx) => {
    await tx.insert(User, {
      id: userId,
      email,
      firstName: 'Mia',
      lastName: 'Berg',
      passwordHash: null,
      passwordChangedAt: null,
      emailVerifiedAt: now,
      createdAt: now,
      updatedAt: now,
      ...user,
    });
  });
  return { userId, email: user.email ?? email, headers: await signedInAnew({ database, clock }, userId) };
}

/** Starts another session of a User, not bound to any credential; returns its headers. */
export async function signedInAnew({ database, clock }: Clocked, userId: string) {
  const { now } = clock;
  const sessionId = uuidv7();
  await database.db.transaction('system', (tx) =>
    tx.insert(UserSession, {
      id: sessionId,
      userId,
      accountId: null,
      applicationId: null,
      authenticatedAt: now,
      amr: ['pwd'],
      ipAddress: null,
      userAgent: null,
      createdAt: now,
      lastUsedAt: now,
      expiresAt: new Date(now.getTime() + 30 * 86_400_000),
      revokedAt: null,
    }),
  );
  return headersOf({ database, clock }, userId, sessionId);
}

async function headersOf({ database: { db }, clock: { now } }: Clocked, userId: string, sessionId: string) {
  const keys = createSigningKeys({ db, sealing, issuer: baseUrl, now: () => now });
  const { accessToken } = await createAdminTokens({ keys, baseUrl, now: () => now }).issue({
    userId,
    sessionId,
    accountId: null,
    applicationId: null,
    authenticatedAt: now,
    amr: ['pwd'],
    acr: 'urn:gatehouse:aal1',
  });
  return { authorization: `Bearer ${accessToken}` };
}

/** Returns the headers of a User's session with a new access token, for tests in which hours pass. */
export async function signedInAgain(api: Clocked, { userId }: Pick<TestMember, 'userId'>) {
  const session = await api.database.db.transaction('system', (tx) => tx.findOneByOrFail(UserSession, { userId }));
  return headersOf(api, userId, session.id);
}

/** Returns the ids of the built-in roles, by key. */
export async function rolesByKey(call: Call): Promise<Record<string, string>> {
  const { items } = (await call('GET', '/administrator-roles')).json();
  return Object.fromEntries(
    (items as { id: string; system_key: string | null }[]).map(({ id, system_key }) => [system_key, id]),
  );
}

/** Invites an administrator to the Account; returns the invite with the token of the mailed link. */
export async function invite(call: Call, body: object = {}) {
  const email = `ivo.${randomBytes(6).toString('hex')}@example.com`;
  const wanted = { email, first_name: 'Ivo', last_name: 'Kern', ...body };
  const answer = await call('POST', '/administrator-invites', wanted);
  if (answer.statusCode !== 201) throw new Error(answer.body);
  const { data } = answer.json();
  return { ...data, token: tokenOf(data.id) } as { id: string; email: string; token: string } & Record<string, unknown>;
}

/** @param linkNumber 1 for the first link, 2 for the one that was resent */
export const tokenOf = (id: string, linkNumber = 1) => administratorInviteToken(sealing, { id, linkNumber }).token;
