import { randomUUID } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { createEmailOtpAdmission } from '../../../src/domain/logins/email-otp-admission.js';
import { insertIdentity } from '../../../src/domain/sign-ups/sign-up.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../../support/api.js';
import { newInterleavedSso } from '../../support/interleaved/sso.js';
import { counted, interleaved } from '../../support/interleaving.js';
import { callsWith } from '../../support/nodes.js';
import { rowsOf } from '../../support/rows.js';
import { make, newDirectory, verified } from '../../support/scim.js';
import { comingUpon } from '../../support/uncommitted.js';

/** Somebody is looked for by an address while its owner gets another one: only who has the address then is let in. */

let api: TestApi;
let account: TestAccount;
beforeAll(async () => {
  api = await startApi();
  account = await newAccount(api);
});
afterAll(() => api.stop());

/** Adds a person of the Account's directory who is in no Environment. */
async function newPerson(email: string): Promise<string> {
  const id = uuidv7();
  const person = { id, email, passwordHash: null, verified: true, firstName: 'Ana', lastName: 'Arendt' };
  await api.database.db.transaction('system', (tx) =>
    insertIdentity(tx, account.scope, { ...person, now: api.clock.now }),
  );
  return id;
}
const move = (id: string) => rowsOf(api, `update identities set email = 'moved-' || email where id = $1`, [id]);

interface Way {
  /** Adds somebody who is known in the Account, and returns the address that they have then; null if refused. */
  add: (email: string) => Promise<string | null>;
  /** A domain that may be used, and whoever has an address in it. */
  domain: string;
  newPerson: (email: string) => Promise<string>;
}
const ways: Record<string, () => Promise<Way>> = {
  'the API': async () => {
    const key = callsWith(api, await account.apiKey());
    const add: Way['add'] = async (email) => {
      const answer = await key('POST', '/identities', { email });
      return answer.statusCode === 201 ? answer.json().data.email : null;
    };
    return { add, newPerson, domain: await verified(api, account) };
  },
  'the directory of an organization': async () => {
    const organization = await make(api, account, '/organizations', { name: 'Nord' });
    const directory = await newDirectory(api, account, organization.id);
    const add: Way['add'] = async (email) => {
      const answer = await directory('POST', '/Users', { userName: email });
      return answer.statusCode === 201 ? answer.json().emails[0].value : null;
    };
    const newMember: Way['newPerson'] = async (email) => (await make(api, account, '/identities', { email })).id;
    return { add, newPerson: newMember, domain: await verified(api, account, organization.id) };
  },
};

test.each(Object.keys(ways))('whom %s adds by an address has it, at whatever statement it is changed', async (way) => {
  const { add, domain, newPerson } = await ways[way]!();
  const address = () => `ana-${randomUUID()}@${domain}`;
  const alone = address();
  await newPerson(alone);
  const { outcome, statements } = await counted(() => add(alone));
  expect(outcome).toBe(alone);
  for (let at = 1; at <= statements; at++) {
    const email = address();
    const id = await newPerson(email);
    const [added] = await interleaved(
      api.database.ownerUrl,
      at,
      () => add(email),
      () => move(id),
    );
    expect([at, added ?? email]).toEqual([at, email]);
  }
});

/** Adds whoever has an address, as a member of the Account's development Environment. */
const adding: Record<string, () => Promise<(email: string) => Promise<unknown>>> = {
  'an import': async () => {
    const key = callsWith(api, await account.apiKey());
    return (email) => key('POST', '/identities/bulk', { identities: [{ email }] });
  },
  'an emailed code': async () => {
    const { admit } = createEmailOtpAdmission({ db: api.database.db, now: () => api.clock.now });
    return (email) => admit(account.scope, { id: randomUUID(), identityId: null, email }, null, 1_000);
  },
};
/** Whoever has locked the person is not waited for: their address stays. */
const moveUnlessHeld = (id: string) =>
  rowsOf(
    api,
    `update identities set email = 'moved-' || email where id = (select id from identities where id = $1 for update skip locked)`,
    [id],
  );

test.each(Object.keys(adding))('%s makes nobody a member who has moved before they are locked', async (way) => {
  const add = await adding[way]!();
  const address = () => `ana-${randomUUID()}@example.com`;
  await add(address()); // from here on the api key is cached
  const joined = (id: string) =>
    rowsOf<{ email: string }>(
      api,
      'select i.email from environment_memberships m join identities i on i.id = m.identity_id where i.id = $1',
      [id],
    );
  const alone = address();
  const first = await newPerson(alone);
  const { statements } = await counted(() => add(alone));
  expect(await joined(first)).toEqual([{ email: alone }]);
  for (let at = 1; at <= statements; at++) {
    const email = address();
    const id = await newPerson(email);
    await interleaved(
      api.database.ownerUrl,
      at,
      () => add(email),
      () => moveUnlessHeld(id),
    );
    const [member] = await joined(id);
    expect([at, member?.email ?? email]).toEqual([at, email]);
  }
});

test('a provider is not linked to a person whose former address it speaks for', async () => {
  const people = await newInterleavedSso(api, account);
  const coming = await people.make({ by: 'organization', isKnown: false });
  const id = await newPerson(coming.email);
  const move = 'update identities set email = $2 where id = $1';
  await comingUpon(
    api.database,
    (tx) => tx.query(move, [id, `moved-${coming.email}`]),
    () => people.happenings.complete(coming),
  );
  const linked = await rowsOf(
    api,
    'select i.email from sso_links l join identities i on i.id = l.identity_id where l.connection_id = $1',
    [coming.connection.id],
  );
  expect(linked).toEqual([{ email: coming.email }]);
});
