import { newAccount, startApi, type TestApi } from '../../support/api.js';
import { newDirectory, newGroup, newUser, type ScimCall } from '../../support/scim.js';

let api: TestApi;
let call: ScimCall;
const ids: string[] = [];
beforeAll(async () => {
  api = await startApi();
  call = await newDirectory(api, await newAccount(api));
  const addresses = Array.from({ length: 60 }, (_, i) => ({ type: `t${i}`, formatted: 'x'.repeat(990) }));
  for (let i = 0; i < 50; i++) ids.push((await newUser(call, { addresses })).id);
  await newGroup(call, 'Last');
});
afterAll(() => api?.stop());

interface Page {
  totalResults: number;
  itemsPerPage: number;
  Resources: { id: string; displayName?: string }[];
}

test.each<[string, (startIndex: number) => ReturnType<ScimCall>, string[]]>([
  ['a list', (from) => call('GET', `/Users?count=200&startIndex=${from}`), []],
  ['a search', (from) => call('POST', '/.search', { count: 200, startIndex: from }), ['Last']],
])('%s of people with many attributes has pages of two megabytes, one after the other', async (_, read, groups) => {
  const seen: Page['Resources'] = [];
  const sizes: number[] = [];
  for (let page: Page | undefined; seen.length < (page?.totalResults ?? 1); ) {
    const { body } = await read(seen.length + 1);
    page = JSON.parse(body) as Page;
    expect(page.itemsPerPage).toBe(page.Resources.length);
    seen.push(...page.Resources);
    sizes.push(body.length);
  }
  expect(Math.max(...sizes)).toBeLessThan(2.2 * 1024 * 1024);
  expect(sizes.length).toBe(2);
  expect(seen.slice(0, ids.length).map(({ id }) => id)).toEqual(ids);
  expect(seen.slice(ids.length).map(({ displayName }) => displayName)).toEqual(groups);
});
