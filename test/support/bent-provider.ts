import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';

/** What a client sent to the token endpoint. */
export interface SentToToken {
  form: URLSearchParams;
  authorization: string | null;
}

export type SigningKey = Awaited<ReturnType<typeof generateKeyPair>>['privateKey'];
type Answer = { status?: number; body: unknown; headers?: Record<string, string> };

/** Generated once: a test file starts many providers. */
let keys: ReturnType<typeof generateKeyPair> | undefined;

/**
 * Starts an OpenID provider whose every answer a test chooses: what hostile and broken providers say. The real provider
 * in `openid-provider.ts` gives the good answers.
 */
export async function startBentProvider() {
  keys ??= generateKeyPair('RS256');
  const { publicKey, privateKey } = await keys;
  const jwk: JWK = { ...(await exportJWK(publicKey)), kid: 'key', alg: 'RS256', use: 'sig' };
  const asked: { path: string; sent: SentToToken | null }[] = [];
  const routes = new Map<string, (sent: SentToToken | null) => Answer | Promise<Answer>>();

  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  async function answer(request: IncomingMessage, response: ServerResponse) {
    const path = new URL(request.url ?? '', issuer).pathname;
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const form = new URLSearchParams(Buffer.concat(chunks).toString());
    const sent = request.method === 'POST' ? { form, authorization: request.headers.authorization ?? null } : null;
    asked.push({ path, sent });
    const { status = 200, body, headers = {} } = (await routes.get(path)?.(sent)) ?? { status: 404, body: {} };
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  }

  const discovery: Record<string, unknown> = {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/jwks`,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
    authorization_response_iss_parameter_supported: true,
  };
  routes.set('/.well-known/openid-configuration', () => ({ body: discovery }));
  routes.set('/jwks', () => ({ body: { keys: [jwk] } }));

  return {
    issuer,
    /** Tests change these as they like. */
    discovery,
    routes,
    asked,
    privateKey,
    /** Returns an ID token signed with the provider's key, without the claims that are undefined. */
    idToken: (claims: Record<string, unknown>, header: object = {}, key: SigningKey = privateKey) => {
      const now = Math.floor(Date.now() / 1000);
      const all = { iss: issuer, aud: 'client', sub: 'ana', iat: now, exp: now + 300, ...claims };
      const said = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
      return new SignJWT(said).setProtectedHeader({ alg: 'RS256', kid: 'key', ...header }).sign(key);
    },
    /** Has the token endpoint answer with an ID token. */
    answers: (idToken: () => Promise<string> | string, more: Record<string, unknown> = {}) =>
      routes.set('/token', async () => ({
        body: { access_token: 'access', token_type: 'Bearer', id_token: await idToken(), ...more },
      })),
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export type BentProvider = Awaited<ReturnType<typeof startBentProvider>>;
