import { afterAll, expect, test } from '@jest/globals';
import { password, type TestClient } from '../../support/oauth/environment.js';
import { newProvider } from '../../support/oauth/provider.js';
import { authorizeUrl, codeFor, newPkce } from '../../support/oauth/sign-in.js';
import { redeem, refresh, tokensFor, userinfo } from '../../support/oauth/tokens.js';

// Simultaneous requests share a statement (docs/decisions/0053, 0059): each is answered by itself all the same.

const world = await newProvider();
const environment = await world.newEnvironment();
const spa = await environment.newClient();
const server = await environment.newClient({ tokenEndpointAuthMethod: 'client_secret_basic' });
const people = await Promise.all(Array.from({ length: 4 }, () => environment.newIdentity()));
afterAll(() => world.close());

type Code = Awaited<ReturnType<typeof codeFor>>;
const codesOf = (client: TestClient) =>
  Promise.all(people.map(({ email }) => codeFor(world.browser(), client, email))) as Promise<
    Code[] & [Code, Code, Code, Code]
  >;
const subjectOf = async (token: string) => (await userinfo(world.app, token)).json().sub;

async function tryToSignIn(email: string, typed: string) {
  const browser = world.browser();
  const page = await browser.get(authorizeUrl(spa, { code_challenge: newPkce().challenge }));
  return (await browser.submit(page, { email, password: typed })).statusCode;
}

test('simultaneous sign-ins, some of unknown people or with a wrong password, are each answered alone', async () => {
  const ana = people[0]?.email as string;
  const [tokens, statuses] = await Promise.all([
    Promise.all(people.map(({ email }) => tokensFor(world.browser(), spa, email))),
    Promise.all([
      tryToSignIn('nobody@example.com', password),
      tryToSignIn('a\u0000b', password),
      tryToSignIn(ana, 'wrong'),
    ]),
  ]);
  expect(await Promise.all(tokens.map(({ access_token }) => subjectOf(access_token)))).toEqual(
    people.map(({ id }) => id),
  );
  expect(statuses).toEqual([200, 200, 200]); // the form again
});

test('simultaneous codes, one wrong verifier, client, code and repetition among them, are each answered alone', async () => {
  const [right, otherVerifier, otherClient, twice] = await codesOf(spa);
  const answers = await Promise.all([
    redeem(world.app, spa, right),
    redeem(world.app, spa, { ...otherVerifier, verifier: newPkce().verifier }),
    redeem(world.app, server, otherClient),
    redeem(world.app, spa, { ...right, code: 'unknown' }),
    redeem(world.app, spa, twice),
    redeem(world.app, spa, twice),
  ]);
  const refused = 'invalid_grant';
  const outcomes = answers.map((answer) => answer.json().error ?? 'tokens');
  expect(outcomes).toEqual(['tokens', refused, refused, refused, 'tokens', refused]);
  const [first, , , , second] = answers.map((answer) => answer.json().access_token);
  expect(await subjectOf(first)).toBe(people[0]?.id);
  // A code that was redeemed twice left no valid token, and one that was refused is still valid.
  expect((await userinfo(world.app, second)).statusCode).toBe(401);
  expect((await redeem(world.app, spa, otherVerifier)).statusCode).toBe(200);
  expect((await redeem(world.app, spa, otherClient)).statusCode).toBe(200);
});

test('simultaneous refreshes, one with too much scope and one of another client among them, are each answered alone', async () => {
  const tokens = await Promise.all(
    people.map(({ email }) => tokensFor(world.browser(), server, email, { scope: 'openid email' })),
  );
  const other = await tokensFor(world.browser(), spa, people[0]?.email as string);
  const answers = await Promise.all([
    ...tokens.map(({ refresh_token }) => refresh(world.app, server, refresh_token)),
    refresh(world.app, server, tokens[0]?.refresh_token as string, { scope: 'openid profile' }),
    refresh(world.app, server, other.refresh_token),
    refresh(world.app, server, 'unknown'),
  ]);
  expect(answers.map((answer) => answer.json().error ?? answer.json().refresh_token)).toEqual([
    ...tokens.map(({ refresh_token }) => refresh_token),
    'invalid_scope',
    'invalid_grant',
    'invalid_grant',
  ]);
  const given = answers.slice(0, people.length).map((answer) => subjectOf(answer.json().access_token));
  expect(await Promise.all(given)).toEqual(people.map(({ id }) => id));
});
