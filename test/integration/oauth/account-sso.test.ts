import { afterAll, describe, expect, test } from '@jest/globals';
import { v7 as uuidv7 } from 'uuid';
import { hours, minutes } from '../../../src/platform/clock.js';
import { accountUrl, send } from '../../support/account.js';
import { enrollTotp, giveFactor } from '../../support/mfa.js';
import { type Browser, locationOf } from '../../support/oauth/browser.js';
import { authorizeUrl } from '../../support/oauth/sign-in.js';
import { followThroughProvider, newSsoPlace, startSsoWorld } from '../../support/sso.js';

/** The account page for people who sign in by an identity provider. */

const baseUrl = 'http://localhost:3000';
const { idp, world, stop, nextConnectionId, newPerson } = await startSsoWorld(20);
afterAll(() => stop());

/** Signs a person in by the provider, as of an hour ago, with the strength that it reports. */
async function arrive(said: object = {}) {
  const { client, environment } = await newSsoPlace(world, idp, { id: nextConnectionId() }, { mfaPolicy: 'optional' });
  const { email, login } = newPerson({ given_name: 'Ana', family_name: 'Arendt', ...said });
  const browser = world.browser();
  const jar = new Map<string, string>();
  const walk = (url: string) => followThroughProvider(browser, url, { idp, login, jar });
  await walk(authorizeUrl(client, { login_hint: email }));
  const [person] = await world.query<{ id: string }>('select id from identities where email = $1', [email]);
  const { id } = person!;
  await anHourLater(id);
  return { client, environment, browser, id, email, walk };
}

const anHourLater = (id: string) =>
  world.query(
    `update sessions set authenticated_at = authenticated_at - $2::interval, auth_time = auth_time - $2::interval where identity_id = $1`,
    [id, `${hours(1) / 1000} seconds`],
  );

/** Does the same with mailed codes as the second factor. */
async function arriveWithMail(said: object) {
  const there = await arrive(said);
  await giveFactor(world, there.environment, there.id, { id: uuidv7(), type: 'email_otp', label: 'Email' });
  return there;
}

/** Enters the mailed code that a page asks for. */
async function mailed(browser: Browser, challenge: Awaited<ReturnType<Browser['get']>>) {
  const sent = await browser.submit(challenge, {});
  return browser.submit(sent, { code: await world.mailedCode('mfa') });
}

test.each([{}, { amr: ['otp'] }, { amr: ['pwd'] }])(
  'a person with mailed codes as the second factor uses one, whatever the provider reports: %j',
  async (said) => {
    const { client, browser, walk } = await arriveWithMail(said);
    const challenge = await walk(accountUrl(client, {}, '/factors/totp'));
    expect(challenge.body).toContain('action="/oauth/mfa/email-otp/send"');
    const answered = await mailed(browser, challenge);
    expect([answered.statusCode, locationOf(answered).pathname]).toEqual([303, '/oauth/account/factors/totp']);
    expect((await walk(String(answered.headers.location).replace(baseUrl, ''))).body).toContain('otpauth://totp/');
  },
);

test('a provider that reports `otp` does not count as our mailed code, which is a second factor after it', async () => {
  const { client, browser } = await arriveWithMail({ amr: ['otp'] });
  const page = await browser.get(authorizeUrl(client));
  expect(page.body).toContain('action="/oauth/mfa/email-otp/send"');
});

/** Signs in by the provider again, which authenticates anew. */
const arriveAnew = ({ client, walk }: Awaited<ReturnType<typeof arrive>>) =>
  walk(accountUrl(client, {}, '/factors/totp')); // by the provider, since an hour has gone by

describe('factors belong to the Account, and a provider to one Environment', () => {
  test.each([[['mfa']], [['pwd', 'mfa']], [['otp']]])(
    'a person with an app uses it, though the provider reports %j',
    async (amr) => {
      const there = await arrive({ amr });
      const { client, environment, browser, id, email, walk } = there;
      const totp = await enrollTotp(world, environment, { id, email });
      const challenge = await arriveAnew(there);
      expect(challenge.body).toContain('action="/oauth/mfa-challenge"');
      // Nothing in the account gets past it: no factor is added or removed.
      const [factor] = await world.query<{ id: string }>('select id from mfa_factors where identity_id = $1', [id]);
      for (const page of ['/factors/webauthn', `/factors/${factor!.id}`, '/recovery-codes'])
        expect((await walk(accountUrl(client, {}, page))).body).toContain('action="/oauth/mfa-challenge"');
      const answered = await browser.submit(challenge, { code: totp.code() });
      expect([answered.statusCode, locationOf(answered).pathname]).toEqual([303, '/oauth/account/factors/totp']);
      expect((await walk(String(answered.headers.location).replace(baseUrl, ''))).body).toContain('otpauth://totp/');
    },
  );

  test('a first password works in all Environments, and requires the app too', async () => {
    const there = await arrive({ amr: ['mfa'] });
    const { client, environment, id, email, walk } = there;
    await enrollTotp(world, environment, { id, email });
    expect((await walk(accountUrl(client, {}, '/password'))).body).toContain('action="/oauth/mfa-challenge"');
  });

  test('a person without a factor adds one by what the provider reports', async () => {
    const page = await arriveAnew(await arrive({ amr: ['mfa'] }));
    expect(page.body).toContain('otpauth://totp/');
  });

  test('a sign-in to an application is unchanged: there the provider’s statement is enough', async () => {
    const { client, environment, id, email, walk } = await arrive({ amr: ['mfa'] });
    await enrollTotp(world, environment, { id, email });
    const asked = { acr_values: 'urn:gatehouse:aal2', max_age: '300', login_hint: email };
    const at = await walk(authorizeUrl(client, asked));
    expect(locationOf(at).searchParams.get('code')).not.toBeNull();
  });
});

test.each([['optional'], ['off']])(
  'in a trusted browser a provider’s `otp` does not count as our code either (MFA %s)',
  async (mfaPolicy) => {
    const there = await arriveWithMail({ amr: ['otp'] });
    await world.query('update environment_settings set mfa_policy = $2 where environment_id = $1', [
      there.environment.environmentId,
      mfaPolicy,
    ]);
    await world.query('update sessions set second_factor_at = now() where identity_id = $1', [there.id]);
    expect((await arriveAnew(there)).body).toContain('action="/oauth/mfa/email-otp/send"');
  },
);

test('a person whose second factor is mailed codes can add another factor if their address is no longer confirmed: no code is mailed to such an address', async () => {
  const { client, id, walk } = await arriveWithMail({});
  await world.query('update identities set email_verified_at = null where id = $1', [id]);
  expect((await walk(accountUrl(client, {}, '/factors/totp'))).body).toContain('otpauth://totp/');
});

describe('a form whose sign-in has ended or is too old leads to the provider by a page, since a form may not redirect there', () => {
  /** Returns where the page after a form redirects by itself, and where that leads. */
  async function onFrom(browser: Browser, answer: Awaited<ReturnType<Browser['get']>>) {
    expect([answer.statusCode, /<h1>([^<]*)</.exec(answer.body)?.[1]]).toEqual([200, 'On to the sign-in']);
    const url = /http-equiv="refresh" content="0;url=([^"]+)"/.exec(answer.body)?.[1]?.replaceAll('&amp;', '&') ?? '';
    return { url, next: await browser.get(url) };
  }

  test.each(['too old', 'over'])('in the account, when it is %s', async (how) => {
    const { client, browser, id, walk } = await arrive();
    const page = await walk(accountUrl(client, {}, '/password'));
    if (how === 'over') await world.query('update sessions set revoked_at = now() where identity_id = $1', [id]);
    else await anHourLater(id);
    world.wait(minutes(1));
    const fields = { new_password: 'lantern orchard seven' };
    const { url, next } = await onFrom(browser, await send(browser, page, 'password', fields));
    expect(url).toMatch(/^\/oauth\/authorize\?.*destination=account%2Fpassword/);
    // Without a session, only an address says which provider a person belongs to.
    if (how === 'too old') expect(String(next.headers.location)).toContain(idp.issuer);
    const script = await send(browser, page, 'password', fields, { accept: 'application/json' });
    expect(script.json().redirect_to).toContain('/oauth/authorize?');
  });
});
