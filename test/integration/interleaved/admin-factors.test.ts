import type { LightMyRequestResponse } from 'fastify';
import { createMfaResetByOperator } from '../../../src/domain/admin-mfa/reset.js';
import { type AdminAuth, bearer, newAdminAuth } from '../../support/admin-auth.js';
import { withFactors } from '../../support/admin-mfa.js';
import { counted, interleaved, unlikeBothOrders } from '../../support/interleaving.js';
import { createRandom } from '../../support/random.js';

/**
 * Whatever happens to an administrator between their two factors at once, the outcome is that of one of the two orders.
 */

let auth: AdminAuth;
beforeAll(async () => {
  auth = await newAdminAuth();
});
afterAll(() => auth.close());

/** A user who is asked for their second factor in two tabs, and has a sign-in page open with a passkey. */
interface Waiting {
  id: string;
  email: string;
  password: string;
  /** The token of the session in which they enrolled an app and a security key. */
  token: string;
  factorId: string;
  passkeyId: string;
  /** The answer of the passkey on that page. */
  passkeyAnswer: { passkey_token: string; response: object };
  code(): string;
  recoveryCode: string;
  challenges: string[];
  applicationId: string;
  /** The selection tokens that right answers led to, each valid for one session. */
  selections: string[];
}

/** @param applications with more than one, a right answer leads to the choice between them */
const make = (applications: number) => async (): Promise<Waiting> => {
  const { enrollTotp, enrollKey, challenge, newKey, beginPasskey } = withFactors(auth);
  const person = await auth.addUser({ accounts: [applications] });
  const { accessToken: token } = await auth.sessionOf(person.id);
  const { factor, code, recovery_codes: codes } = await enrollTotp(token);
  const passkey = await enrollKey(token, newKey({ isSynced: true, counts: false }));
  const { passkey_token, options } = await beginPasskey();
  const passkeyAnswer = { passkey_token, response: passkey.authenticator.get(options) };
  const challenges = [await challenge(person), await challenge(person)];
  auth.pass(1); // so that what happens now is later than their proof
  const applicationId = person.accounts[0]!.applications[0]!.id;
  const { id, email, password } = person;
  const keys = { passkeyId: passkey.factor.id, passkeyAnswer };
  const secrets = { factorId: factor.id, ...keys, code, recoveryCode: codes![0]!, challenges };
  return { id, email, password, token, applicationId, ...secrets, selections: [] };
};

const cameOf = ({ statusCode, body }: LightMyRequestResponse) =>
  statusCode < 300 ? String(statusCode) : `${statusCode} ${JSON.parse(body).error.code}`;

/** `left` checks what such an answer is worth: sessions may have ended right after it, or right before theirs began. */
const orEnded = (answer: LightMyRequestResponse) =>
  ['200', '401 null'].includes(cameOf(answer)) ? 'goes on' : cameOf(answer);

const answering = (tab: 0 | 1, kind: 'totp' | 'recovery-code') => async (person: Waiting) => {
  const code = kind === 'totp' ? person.code() : person.recoveryCode;
  const answer = await withFactors(auth).answer(kind, person.challenges[tab]!, code);
  const selection = answer.json().data?.selection_token;
  if (selection) person.selections.push(selection);
  return orEnded(answer);
};

const signIn = async (person: Waiting) => {
  const answer = await auth.post('/passkey', person.passkeyAnswer);
  const selection = answer.json().data?.selection_token;
  if (selection) person.selections.push(selection);
  return orEnded(answer);
};

const happenings = {
  answer: answering(0, 'totp'),
  answerTwice: answering(0, 'totp'),
  answerInSecondTab: answering(1, 'totp'),
  recover: answering(0, 'recovery-code'),
  recoverTwice: answering(0, 'recovery-code'),
  recoverInSecondTab: answering(1, 'recovery-code'),
  signIn,
  signInTwice: signIn,
  removePasskey: async ({ passkeyId, token }: Waiting) =>
    cameOf(await auth.delete(`/mfa/factors/${passkeyId}`, bearer(token))),
  removeFactor: async ({ factorId, token }: Waiting) =>
    cameOf(await auth.delete(`/mfa/factors/${factorId}`, bearer(token))),
  renewCodes: async ({ token }: Waiting) => cameOf(await auth.post('/mfa/recovery-codes', undefined, bearer(token))),
  reset: async ({ email }: Waiting) => String(await createMfaResetByOperator({ db: auth.db, now: auth.now })(email)),
  changePassword: async ({ password, token }: Waiting) =>
    cameOf(
      await auth.put('/password', { current_password: password, new_password: 'amber harbour 23' }, bearer(token)),
    ),
};

async function left({ id, selections, applicationId }: Waiting) {
  for (const token of selections)
    await auth.post('/select-application', { selection_token: token, application_id: applicationId });
  return auth.db.transaction('system', (tx) =>
    tx.query(
      `select (select count(*)::int from user_sessions where user_id = $1 and revoked_at is null) as sessions,
         (select array_agg(type order by type) from user_mfa_factors where user_id = $1) as factors,
         (select count(*)::int from user_recovery_codes where user_id = $1 and used_at is null) as codes,
         (select count(*)::int from emails where recipient_id = $1) as mails,
         (select array_agg(told order by told) from (select action || ' ' || outcome || ' ' || count(*) as told from events
            where resource_id = $1::text and action <> 'auth.admin_signed_in' group by action, outcome) e) as events`,
      [id],
    ),
  );
}

type Happening = keyof typeof happenings;
const named: Record<string, (person: Waiting) => Promise<string>> = happenings;

/** Returns outcomes that neither of the two orders leads to. */
const unlike = (
  applications: number,
  pairs: readonly (readonly [Happening, Happening])[],
  at: (statements: number) => number,
) =>
  auth.whileTimeStands(() =>
    unlikeBothOrders(auth.database.ownerUrl, { make: make(applications), happenings: named, left }, pairs, at),
  );

test.each<[Happening, Happening[]]>([
  ['answer', ['answerInSecondTab', 'changePassword']],
  ['recover', ['recoverTwice', 'recoverInSecondTab', 'renewCodes', 'reset']],
])('"%s" and another request at the same time have the outcome of one order', async (first, others) => {
  const pairs = others.flatMap((other) => [[first, other] as const, [other, first] as const]);
  const { below } = createRandom(42);
  expect(await unlike(1, pairs, (statements) => 1 + below(statements))).toEqual([]);
});

test.each<['answer' | 'signIn', Happening, number]>([
  ['answer', 'answerTwice', 1],
  ['answer', 'removeFactor', 1],
  ['answer', 'reset', 1],
  ['answer', 'reset', 2],
  ['signIn', 'signInTwice', 1],
  ['signIn', 'removePasskey', 1],
  ['signIn', 'changePassword', 1],
  ['signIn', 'reset', 1],
  ['signIn', 'reset', 2],
])(
  '"%s" and "%s", interleaved at any statement, have the outcome of one order, with %i applications',
  async (first, other, applications) => {
    const { statements } = await auth.whileTimeStands(async () => {
      const person = await make(applications)();
      return counted(() => happenings[first](person));
    });
    let at = 0;
    expect(await unlike(applications, Array(statements).fill([first, other]), () => ++at)).toEqual([]);
  },
);

test('a factor is renamed before it is removed, or not at all', async () => {
  const renaming = ({ factorId, token }: Waiting) =>
    auth.app.inject({
      method: 'PATCH',
      url: `/v1/auth/mfa/factors/${factorId}`,
      payload: { label: 'Work phone' },
      headers: bearer(token),
    });
  const { statements } = await counted(async () => renaming(await make(1)()));
  for (let at = 1; at <= statements; at++) {
    const person = await make(1)();
    const [renamed] = await interleaved(
      auth.database.ownerUrl,
      at,
      async () => cameOf(await renaming(person)),
      () => happenings.removeFactor(person),
    );
    const told = await auth.db.transaction('system', (tx) =>
      tx.query<{ action: string }[]>(
        `select action from events where resource_id = $1::text and action in ('auth.admin_mfa_renamed', 'auth.admin_mfa_removed') order by id`,
        [person.id],
      ),
    );
    const both = ['auth.admin_mfa_renamed', 'auth.admin_mfa_removed'];
    expect([at, told.map(({ action }) => action)]).toEqual([at, renamed === '200' ? both : both.slice(1)]);
  }
});
