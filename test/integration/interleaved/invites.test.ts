import { createAdministratorInviteExpiry } from '../../../src/domain/administrator-invites/expiry.js';
import { createIdentityInviteExpiry } from '../../../src/domain/identity-invites/expiry.js';
import { days } from '../../../src/platform/clock.js';
import { invite, rolesByKey } from '../../support/administrators.js';
import { outcomeOf } from '../../support/answers.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../../support/api.js';
import { type Call, callsOf } from '../../support/calls.js';
import { inviteTo } from '../../support/identity-invites.js';
import { unlikeBothOrders } from '../../support/interleaving.js';
import { callsWith } from '../../support/nodes.js';
import { createRandom } from '../../support/random.js';
import { rowsOf } from '../../support/rows.js';

/** Whatever happens to an invite at once, the outcome is that of one of the two orders. */

let api: TestApi;
let account: TestAccount;
let owner: Call;
beforeAll(async () => {
  api = await startApi();
  account = await newAccount(api);
  owner = callsOf(api, account.accountSlug, await account.as('owner'));
});
afterAll(() => api.stop());

interface Invited {
  id: string;
  email: string;
  token: string;
}
interface Kind {
  table: string;
  make(): Promise<Invited>;
  happenings: Record<string, (invited: Invited) => Promise<string>>;
}

const accepting =
  (url: string, names: object = {}) =>
  async ({ token }: Invited) =>
    outcomeOf(
      await api.app.inject({ method: 'POST', url, payload: { token, password: 'violet tractor 19', ...names } }),
    );
const supportCancels = async ({ id }: Invited) =>
  outcomeOf(await owner('POST', `/processes/${id}/cancel`, { reason: 'A test' }));
const late = () => new Date(api.clock.now.getTime() + days(8));

async function administrators(): Promise<Kind> {
  const { db } = api.database;
  const roles = await rolesByKey(owner);
  const post = (verb: string) => async (invited: Invited) =>
    outcomeOf(await owner('POST', `/administrator-invites/${invited.id}/${verb}`));
  const now = () => api.clock.now;
  return {
    table: 'administrator_invites',
    make: () => invite(owner, { role_id: roles.viewer }),
    happenings: {
      accept: accepting('/v1/auth/accept-invite', { first_name: 'Ivo', last_name: 'Kern' }),
      revoke: post('revoke'),
      resend: post('resend'),
      supportCancels,
      operatorCancels: async ({ id }) =>
        (await createAdministratorInviteExpiry({ db, now }).cancel(id, 'cancelled_by_operator')).status,
      timeEnds: async ({ id }) => (await createAdministratorInviteExpiry({ db, now: late }).expire(id)).status,
    },
  };
}

async function endUsers(): Promise<Kind> {
  const { db } = api.database;
  const key = callsWith(api, await account.apiKey());
  const post = (verb: string) => async (invited: Invited) =>
    outcomeOf(await key('POST', `/identity-invites/${invited.id}/${verb}`));
  const now = () => api.clock.now;
  return {
    table: 'identity_invites',
    make: () => inviteTo(key, '/identity-invites'),
    happenings: {
      accept: accepting('/v1/identity/auth/accept-invite'),
      revoke: post('revoke'),
      resend: post('resend'),
      supportCancels,
      operatorCancels: async ({ id }) =>
        (await createIdentityInviteExpiry({ db, now }).cancel(id, 'cancelled_by_operator')).status,
      timeEnds: async ({ id }) => (await createIdentityInviteExpiry({ db, now: late }).expire(id)).status,
    },
  };
}

/** Returns what is left: the invite, its events and mails, and whether it let the person in. */
async function left(table: string, { id, email }: Invited): Promise<object | undefined> {
  const [row] = await rowsOf(
    api,
    `select status, ended_reason, link_number, ended_at is not null as ended,
       (select array_agg(action::text order by action) from events
        where resource_id = $1 and action <> 'auth.access_denied') as told,
       (select array_agg(cause order by cause) from emails where subject_id = $1::uuid) as mails,
       (select count(*) from memberships m join users u on u.id = m.user_id where u.email = $2) as administrators,
       (select count(*) from environment_memberships m join identities i on i.id = m.identity_id where i.email = $2) as people
     from ${table} where id = $1::uuid`,
    [id, email],
  );
  // The causes of its mails contain the invite's id.
  return JSON.parse(JSON.stringify(row).replaceAll(id, 'it'));
}

test.each([
  ['administrators', administrators],
  ['end users', endUsers],
])('two things that happen to an invite of %s at once have the outcome of one order', async (_, kindOf) => {
  const { table, ...kind } = await kindOf();
  const names = Object.keys(kind.happenings);
  const pairs = names.flatMap((first) => names.map((other) => [first, other] as const));
  const { below } = createRandom(42);
  // Half of them before the last statement, which is the commit; the others before any.
  const before = (statements: number) => (below(2) === 0 ? statements : 1 + below(statements));
  const rest = (invited: Invited) => left(table, invited);
  expect(await unlikeBothOrders(api.database.ownerUrl, { ...kind, left: rest }, pairs, before)).toEqual([]);
});
