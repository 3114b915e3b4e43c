import { createHash, randomBytes } from 'node:crypto';
import { type Connection, expectContent, expectStatus, jsonOf } from '../connection.js';
import type { Client, Seed } from '../seed.js';

export interface Tokens {
  access_token: string;
  refresh_token: string;
  id_token?: string;
}

/** The header by which a client with a secret proves itself. */
export const clientHeaders = ({ id, secret }: Client): Record<string, string> =>
  secret === null ? {} : { authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` };

/** The form field by which a client without one says who it is. */
export const clientFields = ({ id, secret }: Client): Record<string, string> =>
  secret === null ? { client_id: id } : {};

/** The whole way of a person and a client, without cookies from before: page, form, code, tokens. Three requests. */
export async function signIn(
  connection: Connection,
  client: Client,
  { redirectUri, password }: Seed,
  email: string,
): Promise<Tokens> {
  const verifier = randomBytes(32).toString('base64url');
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: client.id,
    redirect_uri: redirectUri,
    scope: 'openid profile email',
    state: randomBytes(8).toString('base64url'),
    nonce: randomBytes(8).toString('base64url'),
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  });
  const page = expectStatus(await connection.get(`/oauth/authorize?${query}`), 200);
  const fields = hiddenFields(page.text);
  expectContent(fields.state === query.get('state'), 'the sign-in form');

  const answer = expectStatus(await connection.post('/oauth/authorize', { ...fields, email, password }), 303);
  const code = new URL(String(answer.headers.location)).searchParams.get('code');
  expectContent(code, 'a code');

  const exchange = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier };
  const tokens = jsonOf<Tokens>(
    await connection.post('/oauth/token', { ...clientFields(client), ...exchange }, clientHeaders(client)),
  );
  expectContent(tokens.access_token && tokens.refresh_token && tokens.id_token, 'three tokens');
  return tokens;
}

function hiddenFields(html: string): Record<string, string> {
  const inputs = html.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g);
  return Object.fromEntries([...inputs].map(([, name, value]) => [name, (value as string).replaceAll('&amp;', '&')]));
}
