import { createInviteAcceptance } from '../../src/domain/administrator-invites/acceptance.js';
import { administratorInviteToken } from '../../src/domain/administrator-invites/link.js';
import { createIdentityInviteAcceptance } from '../../src/domain/identity-invites/acceptance.js';
import { findIdentityLink, identityLinkToken, insertIdentityLink } from '../../src/domain/one-time/identity-links.js';
import { readAnyConnection } from '../../src/domain/sso-connections/read.js';
import { createSsoRequests, type NewSsoRequest } from '../../src/domain/sso-sign-in/requests.js';
import { accountAtWork, runInContext, systemActor } from '../../src/platform/context.js';
import { newSecret } from '../../src/platform/crypto/one-time-secret.js';
import { newMember, rolesByKey, sealing } from '../support/administrators.js';
import { newAccount, startApi, type TestApi } from '../support/api.js';
import { inviteTo } from '../support/identity-invites.js';
import { callsWith } from '../support/nodes.js';
import { newPublicClient } from '../support/public-client.js';
import { newOidcConnection } from '../support/sso.js';

/** A request without a caller works for the Account of what its token, link or URL names (docs/decisions/0114). */

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.stop());

const now = () => new Date();

/** Returns for which Account a request works after this. */
const accountAfter = (work: () => Promise<unknown>): Promise<string | undefined> =>
  runInContext({ correlationId: 'one', actor: systemActor }, async () => {
    expect(await work()).toBeTruthy();
    return accountAtWork();
  });

test('the Account of a mailed link', async () => {
  const { db } = api.database;
  const { scope } = await newAccount(api);
  const person = { email: 'mia@example.com', password: null, firstName: 'Mia', lastName: 'Berg' };
  const { identity } = await api.services.identities.create(scope, { ...person, emailVerified: true });
  const client = { ...scope, id: (await newPublicClient(api, scope)).id };
  const link = { identityId: identity.id, purpose: 'reset_password', locale: 'en', parameters: {} } as const;
  const id = await db.transaction('system', (tx) => insertIdentityLink(tx, sealing, client, { ...link, now: now() }));
  const { token } = identityLinkToken(sealing, { id });
  const find = () => db.transaction('system', (tx) => findIdentityLink(tx, 'reset_password', token, now()));
  expect(await accountAfter(find)).toBe(scope.accountId);
});

test('the Account of an end user’s invite', async () => {
  const { db } = api.database;
  const account = await newAccount(api);
  const { token } = await inviteTo(callsWith(api, await account.apiKey()), '/identity-invites');
  const { preview } = createIdentityInviteAcceptance({ db, passwords: {} as never, now });
  expect(await accountAfter(() => preview(token))).toBe(account.scope.accountId);
});

test('the Account of an administrator’s invite', async () => {
  const { db } = api.database;
  const account = await newAccount(api);
  const { call } = await newMember(api, account, 'owner');
  const { admin: role_id } = await rolesByKey(call);
  const body = { email: 'mia@example.org', first_name: 'Mia', last_name: 'Berg', role_id };
  const made = await call('POST', '/administrator-invites', body);
  expect(made.statusCode).toBe(201);
  const { token } = administratorInviteToken(sealing, { id: made.json().data.id, linkNumber: 1 });
  const { preview } = createInviteAcceptance({ db, passwords: {} as never, now });
  expect(await accountAfter(() => preview(token))).toBe(account.scope.accountId);
});

describe('the Account of the connection', () => {
  const provider = { issuer: 'https://idp.example', clientId: 'one', clientSecret: 'a secret' };

  async function newRequest() {
    const { db } = api.database;
    const { scope } = await newAccount(api);
    const connection = await newOidcConnection({ db, now, sealing } as never, scope, provider, { scope: 'identity' });
    const requests = createSsoRequests({ db, sealing, now });
    const [state, browser] = [newSecret(), newSecret()];
    const request: NewSsoRequest = {
      id: connection.id,
      connection,
      purpose: 'identity',
      state,
      browser,
      secrets: null,
      parameters: {},
    };
    expect(await requests.begin(request)).toBe(true);
    return { requests, connection, state, browser, accountId: scope.accountId };
  }

  test('that a provider’s message names', async () => {
    const { connection, accountId } = await newRequest();
    expect(await accountAfter(() => readAnyConnection(api.database.db, connection.id))).toBe(accountId);
  });

  test('whose provider answers', async () => {
    const { requests, connection, state, accountId } = await newRequest();
    const take = () => requests.take({ state, connectionId: connection.id }, 'a proof');
    expect(await accountAfter(take)).toBe(accountId);
  });

  test('by which a browser comes back', async () => {
    const { requests, connection, browser: cookie, accountId } = await newRequest();
    const complete = () => requests.complete(connection.id, { cookie, deliverer: null }, async () => 'done');
    expect(await accountAfter(complete)).toBe(accountId);
  });
});
