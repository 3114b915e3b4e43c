import { afterAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { redirectUri } from '../../support/oauth/environment.js';
import { newProvider } from '../../support/oauth/provider.js';

const world = await newProvider();
const client = await (await world.newEnvironment()).newClient();
afterAll(() => world.close());

const names = [
  ...[
    'client_id',
    'redirect_uri',
    'response_type',
    'scope',
    'state',
    'nonce',
    'code_challenge',
    'code_challenge_method',
  ],
  ...[
    'prompt',
    'max_age',
    'id_token_hint',
    'login_hint',
    'organization',
    'ui_locales',
    'claims',
    'request',
    'email',
    'password',
    'choice',
  ],
  ...[
    'grant_type',
    'code',
    'code_verifier',
    'refresh_token',
    'client_secret',
    'client_assertion',
    'client_assertion_type',
  ],
  ...['token', 'access_token', 'post_logout_redirect_uri', 'confirm', '__proto__', 'constructor'],
];
const odd = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom(
    'code',
    'S256',
    'openid',
    'none',
    'login',
    '0',
    '-1',
    '1e400',
    '\u0000',
    '\ud800',
    'a'.repeat(43),
    'a.b.c',
  ),
  fc.constantFrom(
    'authorization_code',
    'refresh_token',
    'yes',
    'continue',
    'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
  ),
);
const anyJson = fc.oneof(odd, fc.jsonValue({ maxDepth: 2 }));
const textOf = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));
const base = () => ({ client_id: client.clientId, redirect_uri: redirectUri, response_type: 'code' });

test('no input of any kind gives a 500', async () => {
  const paths = ['authorize', 'token', 'userinfo', 'revoke', 'introspect', 'logout'];
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...paths),
      fc.array(fc.tuple(fc.constantFrom(...names), anyJson), { maxLength: 8 }),
      fc.constantFrom('get', 'form', 'json'),
      fc.boolean(),
      fc.option(fc.constantFrom('Basic ====', 'Basic Og==', 'Bearer a.b.c', 'Bearer', '\u00ff'), { nil: undefined }),
      async (path, fields, kind, withClient, authorization) => {
        const given = [...Object.entries(withClient ? base() : {}), ...fields];
        const url = `/oauth/${path}`;
        const encoded = new URLSearchParams(
          given.map(([name, value]): [string, string] => [name, textOf(value)]),
        ).toString();
        const headers = { ...(authorization && { authorization }), cookie: 'hosted_session=x', 'user-agent': 'é' };
        const json = JSON.stringify(Object.fromEntries(given));
        const answer = await (kind === 'get'
          ? world.app.inject({ method: 'GET', url: `${url}?${encoded}`, headers })
          : world.app.inject({
              method: 'POST',
              url,
              headers: {
                ...headers,
                'content-type': kind === 'json' ? 'application/json' : 'application/x-www-form-urlencoded',
              },
              payload: kind === 'json' ? json : encoded,
            }));
        expect(answer.statusCode).toBeLessThan(500);
        // And redirects lead only to the client's own site or ours.
        const location = new URL(String(answer.headers.location ?? '/'), world.baseUrl);
        expect([world.baseUrl, new URL(redirectUri).origin]).toContain(location.origin);
      },
    ),
    { numRuns: 600 },
  );
});
