import { createRemoteJWKSet, jwtVerify } from 'jose';
import * as oidc from 'openid-client';
import { freePort } from '../../../src/platform/embedded/ports.js';
import type { LoginResult } from '../../support/identity-auth.js';
import { enrollTotp } from '../../support/mfa.js';
import { password } from '../../support/oauth/environment.js';
import { newProvider } from '../../support/oauth/provider.js';

/** A browser application with its own pages, with `fetch` and an OpenID library that knows nothing of this API. */
const port = await freePort();
const provider = await newProvider({ baseUrl: `http://localhost:${port}` });
await provider.app.listen({ port, host: 'localhost' });
provider.wait(Date.now() - provider.now().getTime()); // the library uses the machine's clock
afterAll(() => provider.close());

const origin = 'https://app.example.com';
async function post(path: string, body: object): Promise<LoginResult> {
  const response = await fetch(`${provider.baseUrl}/v1/identity/auth${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin },
    body: JSON.stringify(body),
  });
  expect(response.headers.get('access-control-allow-origin')).toBe(origin);
  const { data } = (await response.json()) as { data: LoginResult };
  return data;
}

test('a standard library verifies, refreshes, reads and revokes what the API issues', async () => {
  const place = await provider.newEnvironment({ mfaPolicy: 'required' });
  const [client, ana] = [await place.newClient(), await place.newIdentity()];
  const totp = await enrollTotp(provider, place, ana);
  const begun = await post('/login', { client_id: client.clientId, email: ana.email, password });
  expect(begun.requires_mfa_challenge).toBe(true);
  const { challenge_token: token } = begun.mfa_challenge;
  const done = await post('/mfa/challenge/totp', { challenge_token: token, code: totp.code() });
  const { access_token: accessToken, refresh_token: refreshToken } = done;

  const config = await oidc.discovery(new URL(provider.baseUrl), client.clientId, {}, oidc.None(), {
    execute: [oidc.allowInsecureRequests],
  });
  const { jwks_uri: jwks, issuer } = config.serverMetadata();
  const keys = createRemoteJWKSet(new URL(String(jwks)));
  const options = { issuer, audience: issuer, typ: 'at+jwt' };
  const { payload } = await jwtVerify(accessToken, keys, options);
  expect(payload).toMatchObject({
    sub: ana.id,
    client_id: client.clientId,
    acr: 'urn:gatehouse:aal2',
    amr: ['pwd', 'otp', 'mfa'],
  });

  const info = await oidc.fetchUserInfo(config, accessToken, ana.id);
  expect(info).toMatchObject({ email: ana.email, given_name: 'Ana' });
  const next = await oidc.refreshTokenGrant(config, refreshToken);
  expect(next.claims()).toMatchObject({ sub: ana.id, sid: payload.sid });
  await oidc.tokenRevocation(config, String(next.refresh_token));
  await expect(oidc.fetchUserInfo(config, next.access_token, ana.id)).rejects.toThrow();
});
