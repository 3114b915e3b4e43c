import { invite, newMember, rolesByKey, tokenOf } from '../support/administrators.js';
import { outcomeOf } from '../support/answers.js';
import { newAccount, startApi, type TestApi } from '../support/api.js';
import { callsOf } from '../support/calls.js';
import { counted, interleaved } from '../support/interleaving.js';
import { callsWith, newNode } from '../support/nodes.js';
import { rowsOf } from '../support/rows.js';

/** Limits of roles only name what exists, even if it is deleted while they are assigned: they must stay valid input. */

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.stop());

/** Creates a person who may get a role at one node, and holds another one there. */
async function setUp() {
  const account = await newAccount(api);
  const headers = await account.as('owner');
  const nodes = callsWith(api, headers, account.portalPath(''));
  const members = callsOf(api, account.accountSlug, headers);
  const roles = await rolesByKey(members);
  const [gone, other, third] = [
    await newNode(nodes, 'Gone', null),
    await newNode(nodes, 'Other', null),
    await newNode(nodes, 'Third', null),
  ];
  const member = await newMember(api, account, 'developer', undefined, { node_ids: [gone.id] });
  const path = `/members/${member.membershipId}`;
  const held = { role_id: roles.developer, limits: { node_ids: [gone.id] } };
  return {
    gone,
    third,
    give: (node_ids: string[]) =>
      members('PATCH', path, { roles: [held, { role_id: roles.viewer, limits: { node_ids } }] }),
    /** In the form of the answers, so that they can be sent back with one more. */
    limits: async (): Promise<string[][]> =>
      (await members('GET', path))
        .json()
        .data.roles.map(({ limits }: { limits: { node_ids: string[] } }) => limits.node_ids),
    asked: [gone.id, other.id],
    remove: () => nodes('DELETE', `/nodes/${gone.id}`, undefined, 1),
  };
}

test('a node that is deleted while limits are set is in no limits', async () => {
  const alone = await setUp();
  const { statements } = await counted(() => alone.give(alone.asked));
  for (let stop = 1; stop <= statements; stop++) {
    const { give, remove, limits, asked, gone } = await setUp();
    const [given, removed] = await interleaved(api.database.ownerUrl, stop, () => give(asked), remove);
    expect([outcomeOf(removed), (await limits()).flat().includes(gone.id)]).toEqual(['204', false]);
    expect(['200', '400 validation.failed']).toContain(outcomeOf(given));
  }
});

test('a node that is deleted while a person accepts an invite limited to it is in no limits', async () => {
  const account = await newAccount(api);
  const headers = await account.as('owner');
  const nodes = callsWith(api, headers, account.portalPath(''));
  const call = callsOf(api, account.accountSlug, headers);
  const { developer: role_id } = await rolesByKey(call);
  const invited = async () => {
    const node = await newNode(nodes, 'Gone', null);
    const { id } = await invite(call, { role_id, limits: { node_ids: [node.id] } });
    const payload = { token: tokenOf(id), first_name: 'Ivo', last_name: 'Kern', password: 'violet tractor 19' };
    return {
      accept: async () => outcomeOf(await api.app.inject({ method: 'POST', url: '/v1/auth/accept-invite', payload })),
      remove: async () => outcomeOf(await nodes('DELETE', `/nodes/${node.id}`, undefined, 1)),
      left: () =>
        rowsOf(
          api,
          `select i.limits->'node_ids' as offered, r.limits->'node_ids' as held from administrator_invites i
           join membership_roles r on r.membership_id = i.membership_id where i.id = $1`,
          [id],
        ),
    };
  };
  const alone = await invited();
  const { statements } = await counted(alone.accept);
  for (let stop = 1; stop <= statements; stop++) {
    const { accept, remove, left } = await invited();
    const came = await interleaved(api.database.ownerUrl, stop, accept, remove);
    expect([stop, came, await left()]).toEqual([stop, ['200', '204'], [{ offered: [], held: [] }]]);
  }
});
