import { randomUUID } from 'node:crypto';
import { rolesByKey } from '../support/administrators.js';
import { outcomeOf } from '../support/answers.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../support/api.js';
import { type Call, callsOf } from '../support/calls.js';
import { rowsOf } from '../support/rows.js';

/** The inviter chooses the mailbox: it receives a limited number of invite mails an hour, whoever sends them. */
let api: TestApi;
let account: TestAccount;
let owner: Call;
beforeAll(async () => {
  api = await startApi({ RATE_LIMITS: 'on' });
});
beforeEach(async () => {
  account = await newAccount(api);
  owner = callsOf(api, account.accountSlug, await account.as('owner'));
});
afterAll(() => api.stop());

const refused = '429 rate_limit.exceeded';
const inviting = async (call: Call, email: string) => {
  const { viewer } = await rolesByKey(call);
  const person = { first_name: 'Ivo', last_name: 'Kern', role_id: viewer };
  return call('POST', '/administrator-invites', { email, ...person });
};
const mailsTo = (accountId: string) => rowsOf(api, 'select from emails where account_id = $1', [accountId]);

test('an Account sends five invites in an hour to an address, however it is written and whatever they are for', async () => {
  const email = `ivo.${randomUUID()}@example.com`;
  const { id } = (await inviting(owner, email)).json().data;
  const path = `/administrator-invites/${id}`;
  // A refused invite sends no mail.
  for (let i = 0; i < 6; i++)
    expect(outcomeOf(await inviting(owner, email))).toBe('409 administrator_invite.already_pending');
  for (let i = 0; i < 3; i++) expect(outcomeOf(await owner('POST', `${path}/resend`))).toBe('200');
  const inEnvironment = '/applications/portal/environments/development/identity-invites';
  const endUser = { intent: 'activate', email: email.toUpperCase() };
  const last = await owner('POST', inEnvironment, endUser);
  expect(outcomeOf(last)).toBe('201');
  const answers = [
    await owner('POST', `${path}/resend`),
    await owner('POST', `/processes/${id}/resend`),
    await owner('POST', `${inEnvironment}/${last.json().data.id}/resend`),
  ];
  expect(answers.map(outcomeOf)).toEqual([refused, refused, refused]);
  const retryAfter = Number(answers[0]?.headers['retry-after']);
  expect(retryAfter).toBeGreaterThan(3_500);
  expect(await mailsTo(account.scope.accountId)).toHaveLength(5);
  // Revoked and created again, it is another mail to the same mailbox.
  expect(outcomeOf(await owner('POST', `${path}/revoke`))).toBe('200');
  expect(outcomeOf(await inviting(owner, email))).toBe(refused);
  expect(outcomeOf(await inviting(owner, `mia.${randomUUID()}@example.com`))).toBe('201');
});

test('all Accounts together send twenty invites to one address', async () => {
  const email = `ivo.${randomUUID()}@example.com`;
  const outcomes: string[] = [];
  for (let i = 0; i < 5; i++) {
    const own = await newAccount(api);
    const call = callsOf(api, own.accountSlug, await own.as('owner'));
    const made = await inviting(call, email);
    outcomes.push(outcomeOf(made));
    if (made.statusCode !== 201) continue;
    const { id } = made.json().data;
    for (let n = 0; n < 4; n++) outcomes.push(outcomeOf(await call('POST', `/administrator-invites/${id}/resend`)));
  }
  expect(outcomes.filter((outcome) => outcome !== refused)).toHaveLength(20);
  expect(outcomes.at(-1)).toBe(refused);
});
