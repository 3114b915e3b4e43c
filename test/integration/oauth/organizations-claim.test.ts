import { afterAll, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { v7 as uuidv7 } from 'uuid';
import { newProvider } from '../../support/oauth/provider.js';
import { refresh, tokensFor, userinfo } from '../../support/oauth/tokens.js';
import { newOrganization } from '../../support/organizations.js';

const world = await newProvider();
const environment = await world.newEnvironment();
const client = await environment.newClient();
afterAll(() => world.close());

const scope = 'openid org';
const claimed = (token: string) => decodeJwt(token).organizations;

test('the scope org adds the person’s active organizations to both tokens and userinfo, also at each refresh', async () => {
  const [ana, ben] = [await environment.newIdentity(), await environment.newIdentity()];
  const members = [ana, ben];
  const inactive = await newOrganization(world, environment, { status: 'inactive', members });
  await newOrganization(world, environment, { parent: inactive, members });
  await newOrganization(world, environment, { members: [ben] });
  const second = await newOrganization(world, environment, { name: 'Beta & Söhne', slug: 'beta', members });
  const first = await newOrganization(world, environment, { slug: 'alpha', parent: second, members });
  const elsewhere = await world.newEnvironment();
  await newOrganization(world, { ...elsewhere, accountId: environment.accountId }, { members: [ana] });

  const expected = [first, second].map(({ id, slug, name }) => ({ id, slug, name }));
  const tokens = await tokensFor(world.browser(), client, ana.email, { scope });
  expect(claimed(tokens.access_token)).toEqual(expected);
  expect(claimed(tokens.id_token)).toEqual(expected);
  expect((await userinfo(world.app, tokens.access_token)).json()).toEqual({ sub: ana.id, organizations: expected });
  const refreshed = await refresh(world.app, client, tokens.refresh_token);
  expect(claimed(refreshed.json().access_token)).toEqual(expected);
});

test('a person without an organization gets an empty list, and without the scope there is no claim', async () => {
  const ana = await environment.newIdentity();
  const asked = await tokensFor(world.browser(), client, ana.email, { scope });
  expect(claimed(asked.access_token)).toEqual([]);
  const plain = await tokensFor(world.browser(), client, ana.email, { scope: 'openid' });
  for (const token of [plain.access_token, plain.id_token])
    expect(decodeJwt(token)).not.toHaveProperty('organizations');
  expect((await userinfo(world.app, plain.access_token)).json()).toEqual({ sub: ana.id });
});

test('userinfo lists a hundred, a token as many as it has room for, and both say if there are more', async () => {
  const ana = await environment.newIdentity();
  const name = 'A name as long as one may well be, in letters of more than a byte: Ä, ß, ø';
  for (let i = 0; i < 101; i++) {
    await newOrganization(world, environment, {
      name,
      slug: `o-${String(i).padStart(3, '0')}-${uuidv7()}`,
      members: [ana],
    });
  }
  const { access_token, id_token } = await tokensFor(world.browser(), client, ana.email, { scope });
  const answer = await userinfo(world.app, access_token);
  expect(answer.json()).toMatchObject({ organizations_truncated: true });
  expect(answer.json().organizations).toHaveLength(100);
  for (const token of [access_token, id_token]) {
    const claims = decodeJwt(token);
    expect(claims.organizations_truncated).toBe(true);
    expect(claims.organizations).toEqual(answer.json().organizations.slice(0, (claims.organizations as []).length));
    expect(claims.organizations).not.toHaveLength(0);
    expect(token.length).toBeLessThan(6000);
  }
});
