import { createHash, randomBytes } from 'node:crypto';
import { type Answer, type Connection, expectContent, expectStatus, jsonOf } from '../connection.js';
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
export async function signIn(connection: Connection, client: Client, seed: Seed, email: string): Promise<Tokens> {
  const { page, verifier } = await openSignIn(connection, client, seed);
  const fields = { ...fieldsOf(page, '/oauth/authorize'), email, password: seed.password };
  return redeem(connection, client, seed, await connection.post('/oauth/authorize', fields), verifier);
}

export interface MailedTo {
  email: string;
  /** What the person types, once the mail is there. */
  readCode(): Promise<string>;
}

/** The same with an emailed code: page, address, digits, tokens. Four requests. */
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

/** The parameters of an authorization request, and its PKCE verifier. */
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

/** The sign-in page, and the PKCE verifier of the request that it belongs to. */
export async function openSignIn(connection: Connection, client: Client, { redirectUri }: Seed) {
  const { query, verifier } = newRequest(client, redirectUri);
  const { text: page } = expectStatus(await connection.get(`/oauth/authorize?${query}`), 200);
  expectContent(fieldsOf(page, '/oauth/authorize').state === query.get('state'), 'the sign-in form');
  return { page, verifier };
}

/** The tokens for the code that an answer leads to the client with. */
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

/** The hidden fields of the form that a page sends to `action`. */
export function fieldsOf(html: string, action: string): Record<string, string> {
  const form = html.split(`action="${action}"`)[1]?.split('</form>')[0] ?? '';
  const inputs = form.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g);
  return Object.fromEntries([...inputs].map(([, name, value]) => [name, (value as string).replaceAll('&amp;', '&')]));
}
