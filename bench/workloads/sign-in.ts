import { createHash, randomBytes } from 'node:crypto';
import { type Answer, type Connection, expectContent, expectStatus, jsonOf } from '../connection.js';
import type { Client, Seed } from '../seed.js';

export interface Tokens {
  access_token: string;
  refresh_token: string;
  id_token?: string;
}

/** Returns the header that authenticates a client with a secret. */
export const clientHeaders = ({ id, secret }: Client): Record<string, string> =>
  secret === null ? {} : { authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` };

/** Returns the form field that identifies a client without a secret. */
export const clientFields = ({ id, secret }: Client): Record<string, string> =>
  secret === null ? { client_id: id } : {};

/** Signs a person in to a client, without earlier cookies: page, form, code, tokens. Three requests. */
export async function signIn(connection: Connection, client: Client, seed: Seed, email: string): Promise<Tokens> {
  const { page, verifier } = await openSignIn(connection, client, seed);
  const fields = { ...fieldsOf(page, '/oauth/authorize'), email, password: seed.password };
  return redeem(connection, client, seed, await connection.post('/oauth/authorize', fields), verifier);
}

export interface MailedTo {
  email: string;
  /** Returns the code that the person types, once it was mailed. */
  readCode(): Promise<string>;
}

/** Signs in with an emailed code: page, address, digits, tokens. Four requests. */
export async function signInByCode(
  connection: Connection,
  client: Client,
  seed: Seed,
  { email, readCode }: MailedTo,
): Promise<Tokens> {
  const { page, verifier } = await openSignIn(connection, client, seed);
  const [start, verify] = ['/oauth/login/email-otp/start', '/oauth/login/email-otp/verify'];
  const sent = await connection.post(start, { ...fieldsOf(page, '/oauth/authorize'), email });
  const fields = { ...fieldsOf(expectStatus(sent, 200).text, verify), code: await readCode() };
  return redeem(connection, client, seed, await connection.post(verify, fields), verifier);
}

/** Returns the parameters of an authorization request, and its PKCE verifier. */
export function newRequest({ id }: Client, redirectUri: string) {
  const verifier = randomBytes(32).toString('base64url');
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: id,
    redirect_uri: redirectUri,
    scope: 'openid profile email',
    state: randomBytes(8).toString('base64url'),
    nonce: randomBytes(8).toString('base64url'),
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  });
  return { query, verifier };
}

/** Returns the sign-in page, and the PKCE verifier of its request. */
export async function openSignIn(connection: Connection, client: Client, { redirectUri }: Seed) {
  const { query, verifier } = newRequest(client, redirectUri);
  const { text: page } = expectStatus(await connection.get(`/oauth/authorize?${query}`), 200);
  expectContent(fieldsOf(page, '/oauth/authorize').state === query.get('state'), 'the sign-in form');
  return { page, verifier };
}

/** Exchanges the code in an answer's redirect to the client for tokens. */
export async function redeem(
  connection: Connection,
  client: Client,
  { redirectUri }: Seed,
  signedIn: Answer,
  verifier: string,
): Promise<Tokens> {
  const code = new URL(String(expectStatus(signedIn, 303).headers.location)).searchParams.get('code');
  expectContent(code, 'a code');
  const exchange = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier };
  const tokens = jsonOf<Tokens>(
    await connection.post('/oauth/token', { ...clientFields(client), ...exchange }, clientHeaders(client)),
  );
  expectContent(tokens.access_token && tokens.refresh_token && tokens.id_token, 'three tokens');
  return tokens;
}

/** Returns the hidden fields of the form that a page sends to `action`. */
export function fieldsOf(html: string, action: string): Record<string, string> {
  const form = html.split(`action="${action}"`)[1]?.split('</form>')[0] ?? '';
  const inputs = form.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g);
  return Object.fromEntries([...inputs].map(([, name, value]) => [name, (value as string).replaceAll('&amp;', '&')]));
}
