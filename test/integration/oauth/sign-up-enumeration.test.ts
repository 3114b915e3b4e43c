import { randomBytes } from 'node:crypto';
import { afterAll, describe, expect, test } from '@jest/globals';
import type { LightMyRequestResponse } from 'fastify';
import { expectEqualTimes } from '../../support/equal-times.js';
import { newProvider } from '../../support/oauth/provider.js';
import { authorizeUrl } from '../../support/oauth/sign-in.js';

/**
 * Neither a sign-up nor a request for a new password reveals whether an address is known, in its answer or its time.
 */

const kinds = [
  'known',
  'unknown',
  'deactivated',
  'of another Environment',
  'of another Account',
  'unconfirmed',
] as const;
type Kind = (typeof kinds)[number];

const world = await newProvider();
const environment = await world.newEnvironment({ allowSelfSignup: true, dailySelfSignupCap: 100_000 });
const url = new URL(authorizeUrl(await environment.newClient()), world.baseUrl);
const parameters = Object.fromEntries(url.searchParams);
afterAll(() => world.close());

/** All have one length, so that even the length of an answer has to be equal. */
async function newAddress(kind: Kind): Promise<string> {
  const email = `${randomBytes(8).toString('hex')}@example.com`;
  if (kind === 'known') await environment.newIdentity({ email });
  if (kind === 'deactivated') await environment.newIdentity({ email, isActive: false });
  if (kind === 'of another Environment') await environment.newIdentity({ email, isMember: false });
  if (kind === 'unconfirmed') await environment.newIdentity({ email, emailVerifiedAt: null });
  if (kind === 'of another Account') await (await world.newEnvironment()).newIdentity({ email });
  return email;
}

const post = (url: string, fields: Record<string, string>, accept: string) =>
  world.app.inject({
    method: 'POST',
    url,
    headers: { accept, 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams({ ...parameters, ...fields }).toString(),
  });
const steps = {
  'signing up': (email: string, accept: string) =>
    post('/oauth/register', { email, password: 'lantern orchard seven', first_name: 'Ida' }, accept),
  'asking for a new password': (email: string, accept: string) => post('/oauth/password/forgot', { email }, accept),
};

/** Returns an answer without its random and typed parts. */
function comparable({ statusCode, headers, body, cookies }: LightMyRequestResponse, email: string) {
  const nonce = /'nonce-([^']+)'/.exec(String(headers['content-security-policy']))?.[1] ?? 'none';
  const secrets = cookies.map(({ value }) => value);
  const without = (text: string) =>
    [nonce, email, encodeURIComponent(email), ...secrets].reduce(
      (rest, part) => rest.replaceAll(part, '…'.repeat(part.length)),
      text,
    );
  const { date: _, 'x-request-id': __, ...rest } = headers;
  return { statusCode, headers: JSON.parse(without(JSON.stringify(rest))), body: without(body) };
}

describe.each(Object.entries(steps))('%s', (_, send) => {
  test.each(['text/html', 'application/json'])('is answered alike for every address, as %s', async (accept) => {
    const answers = [];
    for (const kind of kinds) {
      const email = await newAddress(kind);
      answers.push(comparable(await send(email, accept), email));
    }
    expect(answers[0]?.statusCode).toBe(200);
    for (const answer of answers) expect(answer).toEqual(answers[0]);
  });

  test.each(['known', 'of another Environment', 'unconfirmed'] as const)(
    'takes as long for an address that is %s as for an unknown one',
    async (kind) => {
      const timed = (which: Kind) => ({
        prepare: () => newAddress(which),
        run: (email: string) => send(email, 'text/html'),
      });
      await expectEqualTimes(timed(kind), timed('unknown'));
    },
  );
});
