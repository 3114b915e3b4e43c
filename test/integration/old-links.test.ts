import { randomUUID } from 'node:crypto';
import { changeIdentity } from '../../src/domain/identities/change.js';
import { removeMember } from '../../src/domain/identities/remove.js';
import { minutes } from '../../src/platform/clock.js';
import { lastLink } from '../support/identity-mails.js';
import { newProvider } from '../support/oauth/provider.js';
import { authorizeUrl } from '../support/oauth/sign-in.js';
import { refresh, tokensFor } from '../support/oauth/tokens.js';
import { newOther } from '../support/other-environment.js';

/** Links that were mailed before a person was removed, or their address was changed. */

const provider = await newProvider();
afterAll(() => provider.close());

const at = (path: string, url: string) => url.replace('/oauth/authorize?', `${path}?`);

/** Creates a person of another Environment of the Account who has asked to join this one. */
async function joining() {
  const environment = await provider.newEnvironment({ allowSelfSignup: true });
  const { accountId, applicationId, environmentId } = environment;
  const client = await environment.newClient();
  const url = authorizeUrl(client);
  const known = await environment.newIdentity({ email: `ida.${randomUUID()}@example.com`, isMember: false });
  await (await newOther(provider, environment)).join(known.id);
  const ask = async () => {
    const browser = provider.browser();
    const form = await browser.get(at('/oauth/register', url));
    await browser.submit(form, { email: known.email, password: 'lantern orchard seven' });
    return lastLink(provider, environmentId);
  };
  const open = (link: string) => provider.browser().get(link);
  const join = async (link: string) => {
    const browser = provider.browser();
    return (await browser.submit(await browser.get(link), {})).statusCode;
  };
  const remove = () =>
    provider.db.transaction({ accountId }, (tx) =>
      removeMember(tx, { accountId, applicationId, environmentId }, known.id, provider.now),
    );
  return { environmentId, client, known, ask, open, join, remove };
}

test('a removed person does not return by a link that they requested before', async () => {
  const { ask, open, join, remove } = await joining();
  const [first, second] = [await ask(), await ask()];
  expect(await join(first)).toBe(200);
  await remove();
  expect((await open(second)).statusCode).toBe(400);
  expect(await join(await ask())).toBe(200); // requested afterwards
});

test('a sign-in that was under way while its person was removed is void when they join again', async () => {
  const { client, known, ask, join, remove } = await joining();
  expect(await join(await ask())).toBe(200);
  const browser = provider.browser();
  const { refresh_token: token } = await tokensFor(browser, client, known.email);
  await remove();
  // As if the session had been created a moment after the removal, without having waited.
  for (const table of ['sessions', 'grants'])
    await provider.query(`update ${table} set revoked_at = null where identity_id = $1`, [known.id]);
  expect(await join(await ask())).toBe(200);
  expect((await browser.get(authorizeUrl(client))).statusCode).toBe(200); // the sign-in page
  expect((await refresh(provider.app, client, token)).json().error).toBe('invalid_grant');
});

test('nobody joins by a link once sign-up is disabled', async () => {
  const { environmentId, ask, open } = await joining();
  const link = await ask();
  expect((await open(link)).statusCode).toBe(200);
  await provider.query('update environment_settings set allow_self_signup = false where environment_id = $1', [
    environmentId,
  ]);
  expect((await open(link)).statusCode).toBe(400);
});

test('a link to an earlier address does not reveal where the person is now', async () => {
  const environment = await provider.newEnvironment();
  const client = await environment.newClient();
  const ana = await environment.newIdentity();
  const browser = provider.browser();
  const form = await browser.get(at('/oauth/password/forgot', authorizeUrl(client)));
  await browser.submit(form, { email: ana.email });
  const link = await lastLink(provider, environment.environmentId);
  const page = await browser.get(link);
  const moved = `moved.${randomUUID()}@example.com`;
  const { accountId, applicationId, environmentId } = environment;
  await provider.db.transaction({ accountId }, (tx) =>
    changeIdentity(tx, { accountId, applicationId, environmentId }, ana.id, { email: moved }, provider.now()),
  );
  for (const answer of [
    await provider.browser().get(link),
    await browser.submit(page, { password: 'lantern orchard seven' }),
  ]) {
    expect(answer.statusCode).toBe(400);
    expect(answer.body).not.toContain(moved.split('@')[0]);
  }
  provider.wait(minutes(2));
  expect((await provider.browser().get(link)).body).not.toContain(moved.split('@')[0]);
});
