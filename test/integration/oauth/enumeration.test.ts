import { randomBytes } from 'node:crypto';
import { afterAll, describe, expect, test } from '@jest/globals';
import type { LightMyRequestResponse } from 'fastify';
import { expectEqualTimes } from '../../support/equal-times.js';
import { newProvider } from '../../support/oauth/provider.js';
import { authorizeUrl } from '../../support/oauth/sign-in.js';

/**
 * The hosted sign-in's answers do not reveal whether an address is known: status, headers and body are equal except for
 * each answer's random parts, and the times have one distribution.
 */

/** All have one length, so that even the length of an answer has to be equal. */
const kinds = [
  'known',
  'unknown',
  'deactivated',
  'of another Environment',
  'of another Account',
  'unconfirmed',
] as const;
type Kind = (typeof kinds)[number];
const addresses = {} as Record<Kind, string>;

const world = await newProvider();
const settings = { emailOtpLoginEnabled: true };
const environment = await world.newEnvironment(settings);
const foreign = await world.newEnvironment(settings);
for (const kind of kinds) addresses[kind] = `${randomBytes(8).toString('hex')}@example.com`;
await environment.newIdentity({ email: addresses.known });
await environment.newIdentity({ email: addresses.deactivated, isActive: false });
await environment.newIdentity({ email: addresses['of another Environment'], isMember: false });
await environment.newIdentity({ email: addresses.unconfirmed, emailVerifiedAt: null });
await foreign.newIdentity({ email: addresses['of another Account'] });
const url = new URL(authorizeUrl(await environment.newClient()), world.baseUrl);
const parameters = Object.fromEntries(url.searchParams);
afterAll(() => world.close());

const post = (url: string, fields: Record<string, string>, accept: string) =>
  world.app.inject({
    method: 'POST',
    url,
    headers: { accept, 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams({ ...parameters, ...fields }).toString(),
  });
const startCode = (email: string, accept = 'text/html') => post('/oauth/login/email-otp/start', { email }, accept);
const tokenIn = ({ body }: LightMyRequestResponse) =>
  (body.startsWith('{')
    ? JSON.parse(body).login_token
    : /name="login_token" value="([^"]+)"/.exec(body)?.[1]) as string;

/** The steps of an attacker who guesses: the preparation, and the request itself. */
const steps = {
  'a wrong password': {
    prepare: async () => '',
    send: (email: string, _: string, accept: string) =>
      post('/oauth/authorize', { email, password: 'a guess' }, accept),
  },
  'asking for a code': {
    prepare: async () => '',
    send: (email: string, _: string, accept: string) => startCode(email, accept),
  },
  'a wrong code': {
    prepare: async (email: string) => tokenIn(await startCode(email)),
    send: (_: string, login_token: string, accept: string) =>
      post('/oauth/login/email-otp/verify', { login_token, code: 'no code' }, accept),
  },
};

/** Returns an answer without its random and typed parts. */
function comparable({ statusCode, headers, body }: LightMyRequestResponse, email: string, token: string) {
  const nonce = /'nonce-([^']+)'/.exec(String(headers['content-security-policy']))?.[1] ?? 'none';
  const own = tokenIn({ body } as LightMyRequestResponse) ?? 'none';
  const without = (text: string) =>
    [nonce, own, token, email, encodeURIComponent(email)]
      .filter(Boolean)
      .reduce((rest, part) => rest.replaceAll(part, '…'), text);
  const { date: _, 'x-request-id': __, ...rest } = headers;
  return { statusCode, headers: JSON.parse(without(JSON.stringify(rest))), body: without(body) };
}

describe.each(Object.entries(steps))('%s', (_, { prepare, send }) => {
  test.each(['text/html', 'application/json'])('is answered alike for every address, as %s', async (accept) => {
    const answers = [];
    for (const kind of kinds) {
      const email = addresses[kind];
      const token = await prepare(email);
      answers.push(comparable(await send(email, token, accept), email, token));
    }
    for (const answer of answers) expect(answer).toEqual(answers[0]);
  });

  test('takes as long for a known address as for an unknown one', async () => {
    const timed = (email: string) => ({
      prepare: () => prepare(email),
      run: (token: string) => send(email, token, 'text/html'),
    });
    await expectEqualTimes(timed(addresses.known), timed(addresses.unknown));
  });
});
