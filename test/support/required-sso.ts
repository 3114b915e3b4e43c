import { randomUUID } from 'node:crypto';
import type { SsoConnection } from '../../entities/sso-connection.js';
import { newMember, sealing, type TestMember } from './administrators.js';
import { newAccount, type TestAccount, type TestApi } from './api.js';
import { newOidcConnection, newVerifiedDomain } from './sso.js';

const none = { issuer: 'https://idp.acme.example', clientId: 'client', clientSecret: 'a secret' };

/** Inserts a connection for the Account's administrators. */
export const newAdminConnection = (
  api: TestApi,
  { scope: { accountId } }: TestAccount,
  overrides: Partial<SsoConnection> = {},
): Promise<SsoConnection> =>
  newOidcConnection(
    { db: api.database.db, now: () => api.clock.now, sealing },
    { accountId, environmentId: null as never },
    none,
    { scope: 'admin', ...overrides },
  );

/** Creates an Account with an Owner, a verified domain and an active connection for its administrators. */
export async function newSsoAccount(api: TestApi) {
  const account = await newAccount(api);
  const domain = `${randomUUID()}.example`;
  const world = { db: api.database.db, now: () => api.clock.now, sealing };
  await newVerifiedDomain(world, { accountId: account.scope.accountId, environmentId: null as never }, domain);
  const [connection, owner] = [await newAdminConnection(api, account), await newMember(api, account, 'owner')];
  return { account, domain, connection, owner };
}

/** Changes a person's sessions as if they had begun at a connection; null: with their password. */
export const comeBy = (
  { database: { db } }: TestApi,
  { userId }: Pick<TestMember, 'userId'>,
  connection: Pick<SsoConnection, 'id' | 'accountId'> | null,
): Promise<unknown> =>
  db.transaction('system', (tx) =>
    tx.query('update user_sessions set sso_connection_id = $2, account_id = $3 where user_id = $1', [
      userId,
      connection?.id ?? null,
      connection?.accountId ?? null,
    ]),
  );

/** Creates such an Account that requires single sign-on, by an Owner whose session is back to a password. */
export async function newRequiringAccount(api: TestApi) {
  const place = await newSsoAccount(api);
  await comeBy(api, place.owner, place.connection);
  const answer = await place.owner.call('PATCH', '', { require_sso: true });
  if (answer.statusCode !== 200) throw new Error(answer.body);
  await comeBy(api, place.owner, null);
  return place;
}
