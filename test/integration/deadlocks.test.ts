import type { LightMyRequestResponse } from 'fastify';
import { lockRequestsOf } from '../../src/domain/sso-connections/find.js';
import { outcomeOf } from '../support/answers.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../support/api.js';
import { newOrganization, newPerson, newRole } from '../support/api-organizations.js';
import { type Call, callsOf } from '../support/calls.js';
import { type Crossing, endedByDeadlock } from '../support/deadlock.js';
import { untilWaiting } from '../support/lock-waits.js';
import { type Calls, callsWith, newNode } from '../support/nodes.js';

let api: TestApi;
let account: TestAccount;
let headers: Record<string, string>;
let key: Calls;
let portal: Call;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.stop());

async function begin() {
  account = await newAccount(api);
  headers = await account.as('owner');
  key = callsWith(api, await account.apiKey());
  portal = callsOf(api, account.accountSlug, headers);
}

/** Updates one of the Environment's counters, which creating and deleting lock late. */
const counter =
  (name: string): Crossing<unknown>['first'] =>
  (tx) =>
    tx.query('select from counters where environment_id = $1 and name = $2 for update', [
      account.scope.environmentId,
      name,
    ]);
const row =
  (table: string, id: string): Crossing<unknown>['first'] =>
  (tx) =>
    tx.query(`select from ${table} where id = $1 for update`, [id]);

const requests: [name: string, outcome: string, crossing: () => Promise<Crossing<LightMyRequestResponse>>][] = [
  [
    'an Identity leaves its Environment',
    '204',
    async () => {
      const id = await newPerson(api, account);
      return {
        first: counter('identities'),
        other: () => key('DELETE', `/identities/${id}`),
        second: row('identities', id),
      };
    },
  ],
  [
    'an Identity leaves the Account',
    '204',
    async () => {
      const id = await newPerson(api, account);
      return {
        first: counter('identities'),
        other: () => portal('DELETE', `/identities/${id}`),
        second: row('identities', id),
      };
    },
  ],
  [
    'a Node is deleted',
    '204',
    async () => {
      const { id } = await newNode(key, 'Unit', null);
      return {
        first: counter('nodes'),
        other: () => key('DELETE', `/nodes/${id}`, undefined, 1),
        second: row('nodes', id),
      };
    },
  ],
  [
    'Identities are created with roles',
    '200',
    async () => {
      const { id } = await newNode(key, 'Unit', null);
      const role = await newRole(key, 'Reader', ['hierarchy.view']);
      const one = { email: 'ada@example.com', first_name: 'Ada', last_name: 'Kern' };
      return {
        first: row('roles', role),
        other: () => key('POST', '/identities/bulk', { identities: [{ ...one, role_id: role, node_id: id }] }),
        second: counter('identities'),
      };
    },
  ],
  [
    'a role is assigned that its holder has',
    '200',
    async () => {
      const id = await newPerson(api, account);
      const role = { role_id: await newRole(key, 'Reader', []), node_id: (await newNode(key, 'Unit', null)).id };
      const assign = () => key('POST', `/identities/${id}/role-assignments`, role);
      const { assignment_id } = (await assign()).json().data;
      return { first: row('role_assignments', assignment_id), other: assign, second: row('identities', id) };
    },
  ],
  [
    'an invitation is cancelled by support',
    '200',
    async () => {
      const { id: organization } = await newOrganization(key, 'Acme');
      const { id } = (
        await key('POST', `/organizations/${organization}/invitations`, { email: 'ada@example.com' })
      ).json().data;
      return {
        first: row('identity_invites', id),
        other: () => portal('POST', `/processes/${id}/cancel`, { reason: 'sent to the wrong person' }),
        second: row('nodes', organization),
      };
    },
  ],
  [
    'an Account is closed',
    '204',
    async () => {
      const { items } = (await portal('GET', '/applications')).json<{ items: { slug: string }[] }>();
      for (const { slug } of items) await portal('DELETE', `/applications/${slug}?confirm=${slug}`);
      const connection = await portal('POST', '/sso/connections', { type: 'oidc', name: 'Provider' });
      const { accountId } = account.scope;
      return {
        first: row('accounts', accountId),
        other: () =>
          Promise.resolve(
            api.app.inject({
              method: 'DELETE',
              url: `/v1/auth/accounts/${accountId}`,
              headers,
              query: { confirm: account.accountSlug },
            }),
          ),
        second: (tx) => lockRequestsOf(tx, { accountId }, connection.json().data.connection.id),
      };
    },
  ],
];

test.each(requests)('%s, also when PostgreSQL aborts it once for a deadlock', async (_, outcome, crossing) => {
  const answer = await endedByDeadlock(api.database, async () => {
    await begin();
    return crossing();
  });
  expect(outcomeOf(answer)).toBe(outcome);
});

test('the Account, its roles and permissions can be changed while references to them are not committed yet', async () => {
  await begin();
  const permission = (await key('POST', '/permissions', { key: 'door.open', name: 'Open the door' })).json().data;
  const { id } = (await key('POST', '/roles', { name: 'Guard', permission_keys: ['door.open'] })).json().data;
  const changes = await api.database.db.transaction('system', async (tx) => {
    await tx.query('select from accounts where id = $1 for key share', [account.scope.accountId]);
    await tx.query('select from roles where id = $1 for key share', [id]);
    return [
      await portal('PATCH', '', { name: 'Another' }),
      await key('PATCH', `/roles/${id}`, { description: 'Of all doors' }, 1),
      await key('PUT', `/roles/${id}/permissions`, { permission_keys: ['door.open', 'hierarchy.view'] }, 2),
      await key('DELETE', `/permissions/${permission.id}`, undefined, 1),
    ];
  });
  expect(changes.map(outcomeOf)).toEqual(['200', '200', '200', '204']);
});

test.each([
  ['deleted', 'DELETE', ''],
  ['tested', 'POST', '/test'],
] as const)(
  'a subscription that is %s waits for the end of its Environment, and does not hold it up',
  async (_, method, path) => {
    await begin();
    const receiver = { url: 'https://receiver.example/', event_types: ['*'] };
    const { id } = (await key('POST', '/webhooks', receiver)).json().data;
    const { answer } = await api.database.db.transaction('system', async (tx) => {
      await row('environments', account.scope.environmentId)(tx); // as its deletion does
      const answer = Promise.resolve(key(method, `/webhooks/${id}${path}`));
      await untilWaiting(api.database.ownerUrl, 1);
      await tx.query('select from webhooks where id = $1 for update nowait', [id]); // disabling a subscription locks it
      return { answer };
    });
    expect(outcomeOf(await answer)).toBe(method === 'DELETE' ? '204' : '200');
  },
);
