import { outcomeOf } from '../support/answers.js';
import { newAccount, startApi, type TestApi } from '../support/api.js';
import { callsWith } from '../support/nodes.js';

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.stop());

test('descriptions are stored as they are sent, for every kind of resource', async () => {
  const account = await newAccount(api);
  const headers = await account.as('owner');
  const [inEnvironment, inAccount] = [account.portalPath(''), `/portal/v1/accounts/${account.accountSlug}`];
  for (const [at, path, more] of [
    [inAccount, '/administrator-roles', { capabilities: ['members.view'] }],
    [inEnvironment, '/roles', {}],
    [inEnvironment, '/permissions', { key: 'one.two' }],
    [inEnvironment, '/nodes', { node_type: 'unit' }],
    [inEnvironment, '/organizations', {}],
  ] as const) {
    const call = callsWith(api, headers, at);
    const made = (await call('POST', path, { ...more, name: 'One', description: '' })).json().data;
    expect([path, made.description]).toEqual([path, '']);
    for (const description of [' padded ', 'two\nlines \u2028', '\ufeff', '', null]) {
      const { version } = (await call('GET', `${path}/${made.id}`)).json().data;
      const changed = await call('PATCH', `${path}/${made.id}`, { description }, version);
      expect([path, outcomeOf(changed), changed.json().data.description]).toEqual([path, '200', description]);
    }
    expect(outcomeOf(await call('POST', path, { ...more, name: 'Two', description: 'x'.repeat(1001) }))).toBe(
      '400 validation.failed',
    );
  }
});
