import { createHash, randomBytes } from 'node:crypto';
import type { OAuthClient } from '../../../entities/oauth-client.js';
import { type Browser, locationOf } from './browser.js';
import { password, redirectUri } from './environment.js';

/** Returns a PKCE verifier with its challenge. */
export function newPkce() {
  const verifier = randomBytes(32).toString('base64url');
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') };
}

/** Returns the URL of an authorization request with PKCE. @param more replaces parameters; undefined leaves one out */
export function authorizeUrl(
  client: Pick<OAuthClient, 'clientId'>,
  more: Record<string, string | undefined> = {},
): string {
  const parameters = {
    client_id: client.clientId,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: 'openid profile email',
    state: 'the state',
    nonce: 'the nonce',
    code_challenge: newPkce().challenge,
    code_challenge_method: 'S256',
    ...more,
  };
  const given = Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return `/oauth/authorize?${new URLSearchParams(given)}`;
}

/** Signs a person in through the page; returns the authorization code. */
export async function codeFor(
  browser: Browser,
  client: Pick<OAuthClient, 'clientId'>,
  email: string,
  more: Record<string, string | undefined> = {},
) {
  const { verifier, challenge } = newPkce();
  const url = authorizeUrl(client, { code_challenge: challenge, ...more });
  let response = await browser.get(url);
  if (response.statusCode === 200) response = await browser.submit(response, { email, password });
  const code = locationOf(response).searchParams.get('code');
  if (!code) throw new Error(`no code: ${response.statusCode} ${response.headers.location ?? response.body}`);
  return { code, verifier, redirect: more.redirect_uri ?? redirectUri };
}
