import { jest } from '@jest/globals';
import type { LightMyRequestResponse } from 'fastify';
import type { EnvironmentSettings } from '../../../entities/environment-settings.js';
import { DomainError } from '../../../src/domain/errors.js';
import { minutes } from '../../../src/platform/clock.js';
import { accountUrl, follow, openAccount, send } from '../../support/account.js';
import { codeIn, passwordStep, totpCode } from '../../support/mfa.js';
import { type Browser, locationOf } from '../../support/oauth/browser.js';
import { newProvider } from '../../support/oauth/provider.js';

/** Enrollment forms that are sent twice, as by a double click: the browser shows the second answer. */
const provider = await newProvider();
afterAll(() => provider.close());

type Page = LightMyRequestResponse;
const keyOn = (page: Page) => (/<dd class="code">([A-Z2-7 ]+)<\/dd>/.exec(page.body)?.[1] ?? '').replaceAll(' ', '');
const codesOn = (page: Page) =>
  [...page.body.matchAll(/<li>([A-Z2-7]{4}(?:-[A-Z2-7]{4}){3})<\/li>/g)].map(([, code]) => code as string);
const factorsOf = (identityId: string) =>
  provider.query<{ type: string }>('select type from mfa_factors where identity_id = $1', [identityId]);

async function newPlace(settings: Partial<EnvironmentSettings>) {
  const environment = await provider.newEnvironment(settings);
  return {
    environment,
    client: await environment.newClient(),
    ana: await environment.newIdentity(),
    browser: provider.browser(),
  };
}

/** Returns the page in a sign-in that asks for a first code, and how to send the code. */
async function signingIn(kind: 'totp' | 'email_otp') {
  const place = await newPlace({ mfaPolicy: 'required' });
  const { browser, client, ana } = place;
  const { page } = await passwordStep(browser, client, ana);
  const offered = await browser.submit(page, { factor: kind });
  const asked = kind === 'totp' ? offered : await browser.submit(offered, {});
  const code = kind === 'totp' ? totpCode(keyOn(asked), provider.now()) : await provider.mailedCode('mfa_enrollment');
  return { ...place, asked, submit: (from: Browser = browser) => from.submit(asked, { code }) };
}

/** Does the same in the own account. */
async function inAccount(kind: 'totp' | 'email_otp') {
  const place = await newPlace({ mfaPolicy: 'optional' });
  const { browser, client, ana } = place;
  const form = `factors/${kind.replace('_', '-')}`;
  const page = await openAccount(browser, accountUrl(client, {}, `/${form}`), ana);
  const enrollment = /name="enrollment" value="([^"]*)"/.exec(page.body)?.[1];
  if (kind === 'email_otp') await send(browser, page, form, {});
  const code = kind === 'totp' ? totpCode(keyOn(page), provider.now()) : await provider.mailedCode('mfa_enrollment');
  return { ...place, submit: () => send(browser, page, form, { code, ...(enrollment && { enrollment }) }) };
}

const flows = [
  ['a sign-in', 'totp', signingIn],
  ['a sign-in', 'email_otp', signingIn],
  ['the account', 'totp', inAccount],
  ['the account', 'email_otp', inAccount],
] as const;

describe.each(flows)('in %s, %s', (_, kind, begin) => {
  test.each(['one after the other', 'after the first one’s codes were opened', 'at once'])(
    '%s: both get the valid recovery codes',
    async (order) => {
      const { ana, browser, submit } = await begin(kind);
      const shown: string[][] = [];
      const answers = order === 'at once' ? await Promise.all([submit(), submit()]) : [await submit()];
      if (order === 'after the first one’s codes were opened')
        shown.push(codesOn(await follow(browser, answers[0] as Page)));
      if (answers.length === 1) answers.push(await submit());
      const last = await follow(browser, answers[1] as Page);
      shown.push(codesOn(last));
      for (const codes of shown) expect(codes).toHaveLength(10);
      expect(new Set(shown.map((codes) => codes.join())).size).toBe(1);
      expect(await factorsOf(ana.id)).toEqual([{ type: kind }]);
      const found = await provider.logins.recoveryCodes.find(ana, ana.id, shown[0]?.[9] as string);
      expect(found).not.toBeNull();
      if (begin === signingIn) codeIn(await browser.submit(last, {}));
    },
  );

  test('an enrollment that overload prevented succeeds with the same form, sent again', async () => {
    const { ana, browser, submit } = await begin(kind);
    const { mfaEnrollments, factors } = provider.logins;
    const enrolling: { enroll(...args: never[]): Promise<unknown> } = begin === signingIn ? mfaEnrollments : factors;
    jest.spyOn(enrolling, 'enroll').mockRejectedValueOnce(new DomainError('service.unavailable'));
    expect((await submit()).statusCode).toBe(503);
    expect(codesOn(await follow(browser, await submit()))).toHaveLength(10);
    expect(await factorsOf(ana.id)).toEqual([{ type: kind }]);
    jest.restoreAllMocks();
  });

  test('a minute later the form is an expired one, and gets no codes', async () => {
    const { submit } = await begin(kind);
    await submit();
    provider.wait(minutes(1));
    const late = await submit();
    expect(codesOn(late)).toEqual([]);
    expect(String(late.headers.location ?? '')).not.toContain('codes_token');
  });
});

test.each(['totp', 'email_otp'] as const)(
  'a copy of the form with a first code by %s gets nothing in another browser',
  async (kind) => {
    const { submit } = await signingIn(kind);
    const first = await submit();
    expect(locationOf(first).pathname).toBe('/oauth/mfa-enroll-codes');
    const copied = await submit(provider.browser());
    expect([copied.statusCode, copied.headers.location, codesOn(copied)]).toEqual([400, undefined, []]);
  },
);

test('codes that are renewed meanwhile are not shown again', async () => {
  const { ana, submit, browser } = await inAccount('totp');
  await follow(browser, await submit());
  await provider.query('delete from recovery_codes where identity_id = $1', [ana.id]);
  const again = await submit();
  expect(String(again.headers.location)).not.toContain('codes_token');
});

test('a form that asks for a first code continues once the sign-in is complete', async () => {
  const { client, ana, browser } = await newPlace({ mfaPolicy: 'required' });
  const { page } = await passwordStep(browser, client, ana);
  const offered = await browser.submit(page, { factor: 'email_otp' });
  codeIn(await browser.submit(page, { choice: 'later' }));
  const asked = await browser.submit(offered, {});
  expect([asked.statusCode, locationOf(asked).pathname]).toEqual([303, '/oauth/authorize']);
});
