import { afterAll, expect, test } from '@jest/globals';
import { oauthDocumentation } from '../../../src/http/oauth/documentation/documentation.js';
import { redirectUri } from '../../support/oauth/environment.js';
import { newProvider } from '../../support/oauth/provider.js';

/** Contract §4: every POST under `/oauth` accepts a form and JSON alike, and nothing else. */
const provider = await newProvider();
const client = await (await provider.newEnvironment({ emailOtpLoginEnabled: true })).newClient();
const parameters = {
  client_id: client.clientId,
  redirect_uri: redirectUri,
  response_type: 'code',
  scope: 'openid',
  code_challenge: 'A'.repeat(43),
  code_challenge_method: 'S256',
};
afterAll(() => provider.close());

const posts = Object.keys(oauthDocumentation)
  .filter((route) => route.startsWith('POST /oauth/'))
  .map((route) => route.slice('POST '.length).replace(/:\w+|\{\w+\}/g, '0190b0a0-0000-7000-8000-000000000000'));

const send = (url: string, type: string, payload: string) =>
  provider.app.inject({
    method: 'POST',
    url,
    payload,
    headers: { 'content-type': type, origin: provider.baseUrl, 'sec-fetch-site': 'same-origin', accept: 'text/html' },
  });

/** Removes what differs between answers to equal requests. */
const constant = (body: string) =>
  body.replace(/[0-9a-f]{8}-[0-9a-f-]{27}|nonce="[^"]*"|value="[^"]*"|[\w-]{43,}/g, '');

test.each(posts)('%s answers JSON like a form, and other types with 415', async (url) => {
  for (const fields of [{}, parameters]) {
    const form = await send(url, 'application/x-www-form-urlencoded', new URLSearchParams(fields).toString());
    const json = await send(url, 'application/json', JSON.stringify(fields));
    expect([200, 303, 400, 401]).toContain(form.statusCode);
    expect(json.statusCode).toBe(form.statusCode);
    expect(constant(json.body)).toBe(constant(form.body));
  }
  for (const type of ['text/plain', 'application/xml', 'multipart/form-data; boundary=x']) {
    expect((await send(url, type, 'x')).statusCode).toBe(415);
  }
});

test('the test finds routes to check', () => expect(posts.length).toBeGreaterThan(25));
