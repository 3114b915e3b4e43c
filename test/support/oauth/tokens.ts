import type { FastifyInstance } from 'fastify';
import type { Browser } from './browser.js';
import type { TestClient } from './environment.js';
import { codeFor } from './sign-in.js';

export interface TokenBody {
  access_token: string;
  id_token: string;
  refresh_token: string;
  scope: string;
  expires_in: number;
  token_type: string;
  error?: string;
  error_description?: string;
}

/** Posts to the token endpoint with the client's own authentication method. */
export async function postToken(
  app: FastifyInstance,
  client: TestClient,
  fields: Record<string, string | undefined>,
  url = '/oauth/token',
) {
  const basic = client.tokenEndpointAuthMethod === 'client_secret_basic';
  const given = Object.entries({
    ...(!basic && { client_id: client.clientId }),
    ...(client.tokenEndpointAuthMethod === 'client_secret_post' && { client_secret: client.secret ?? '' }),
    ...fields,
  }).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return app.inject({
    method: 'POST',
    url,
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      ...(basic && { authorization: basicOf(client.clientId, client.secret ?? '') }),
    },
    payload: new URLSearchParams(given).toString(),
  });
}

export const basicOf = (id: string, secret: string) => `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`;

export const redeem = (
  app: FastifyInstance,
  client: TestClient,
  { code, verifier, redirect }: Awaited<ReturnType<typeof codeFor>>,
) =>
  postToken(app, client, { grant_type: 'authorization_code', code, redirect_uri: redirect, code_verifier: verifier });

export const refresh = (app: FastifyInstance, client: TestClient, token: string, more: Record<string, string> = {}) =>
  postToken(app, client, { grant_type: 'refresh_token', refresh_token: token, ...more });

/** Signs a person in and redeems the code for tokens. */
export async function tokensFor(
  browser: Browser,
  client: TestClient,
  email: string,
  more: Record<string, string | undefined> = {},
): Promise<TokenBody> {
  const response = await redeem(browser.app, client, await codeFor(browser, client, email, more));
  if (response.statusCode !== 200) throw new Error(`no tokens: ${response.body}`);
  return response.json();
}

export const userinfo = (app: FastifyInstance, token: string) =>
  app.inject({ method: 'GET', url: '/oauth/userinfo', headers: { authorization: `Bearer ${token}` } });
