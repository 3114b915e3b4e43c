import { outcomeOf } from '../support/answers.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../support/api.js';
import { callsWith } from '../support/nodes.js';
import { rowsOf } from '../support/rows.js';

const fields = ['login_require_captcha', 'self_signup_require_captcha'];
const keys = { TURNSTILE_SITE_KEY: 'site', TURNSTILE_SECRET_KEY: 'secret' };

let without: TestApi;
let having: TestApi;
beforeAll(async () => {
  [without, having] = await Promise.all([startApi(), startApi(keys)]);
});
afterAll(() => Promise.all([without.stop(), having.stop()]));

/** Returns calls of an Environment's Owner that read and change its settings. */
async function settingsOf(api: TestApi, account: TestAccount) {
  const call = callsWith(api, await account.as('owner'), account.portalPath(''));
  const read = async () => (await call('GET', '/settings')).json().data;
  const change = async (changes: object) => call('PATCH', '/settings', changes, (await read()).version);
  return { read, change };
}

test.each(fields)('%s is refused without a captcha to show, as nobody could sign in', async (field) => {
  const { read, change } = await settingsOf(without, await newAccount(without));
  const before = await read();
  const refused = await change({ [field]: true });
  expect(outcomeOf(refused)).toBe('400 validation.failed');
  expect(refused.json().error.details).toMatchObject([{ field, code: 'not_configured' }]);
  expect(await read()).toEqual(before);
});

test.each(fields)('%s is accepted with a captcha', async (field) => {
  const { read, change } = await settingsOf(having, await newAccount(having));
  expect(outcomeOf(await change({ [field]: true }))).toBe('200');
  expect(await read()).toMatchObject({ [field]: true });
});

test('a captcha that was enabled while there were keys does not prevent other changes, and can be disabled', async () => {
  const account = await newAccount(without);
  const { read, change } = await settingsOf(without, account);
  const text = 'update environment_settings set login_require_captcha = true where environment_id = $1 returning 1';
  expect(await rowsOf(without, text, [account.scope.environmentId])).toHaveLength(1);
  expect(outcomeOf(await change({ login_require_captcha: true, default_locale: 'de' }))).toBe('200');
  expect(await read()).toMatchObject({ login_require_captcha: true, default_locale: 'de' });
  expect(outcomeOf(await change({ login_require_captcha: false }))).toBe('200');
});
