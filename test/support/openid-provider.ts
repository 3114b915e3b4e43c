import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import type Provider from 'oidc-provider';

/** A person at the provider, by the name that they sign in with, which is also their `sub`. */
export type Claims = Record<string, unknown>;

const clientSecret = 'a secret of at least thirty-two characters';
const page = (body: string) => `<!doctype html><html lang="en"><title>The provider</title><body>${body}`;

/**
 * Starts an independent OpenID provider on loopback, as a customer has one:
 * https://github.com/panva/node-oidc-provider. Its people sign in by their name alone.
 * @param callbacks where it sends people back to: redirect URIs of the connections that a test makes
 * @param signedOut where it sends people back to after they have signed out there
 */
export async function startOpenIdProvider({
  callbacks,
  signedOut = [],
}: {
  callbacks: string[];
  signedOut?: string[];
}) {
  const people = new Map<string, Claims>();
  const logoutTokens: string[] = [];
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  const { Provider: RealProvider } = await quietly(() => import('oidc-provider'));
  let provider: Provider | undefined;
  const server = createServer((request, response) => void handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const jwk = { ...(await exportJWK(privateKey)), alg: 'RS256', use: 'sig', kid: 'key' };
  const configured = () =>
    new RealProvider(issuer, {
      jwks: { keys: [jwk as never] },
      cookies: { keys: ['for tests'] },
      clients: [
        {
          client_id: 'gatehouse',
          client_secret: clientSecret,
          redirect_uris: callbacks,
          post_logout_redirect_uris: signedOut,
          backchannel_logout_uri: 'http://localhost:3000/',
          backchannel_logout_session_required: true,
        },
      ],
      // Its calls from server to server (back-channel logout) are kept: tests carry them on.
      async fetch(_, init) {
        logoutTokens.push(new URLSearchParams(String(init?.body)).get('logout_token') ?? '');
        return new Response();
      },
      claims: {
        openid: ['sub', 'amr'],
        email: ['email', 'email_verified'],
        profile: ['given_name', 'family_name', 'groups'],
      },
      findAccount: (_, id) => ({ accountId: id, claims: async () => ({ sub: id, ...people.get(id) }) }),
      features: {
        devInteractions: { enabled: false },
        backchannelLogout: { enabled: true },
        rpInitiatedLogout: {
          enabled: true,
          logoutSource: (asked, form) => {
            asked.body = page(form);
          },
        },
      },
      interactions: { url: (_, { uid }) => `/interaction/${uid}` },
      // Consents for everybody that Gatehouse may know them.
      async loadExistingGrant({ oidc }) {
        const grant = new oidc.provider.Grant({ clientId: oidc.client?.clientId, accountId: oidc.session?.accountId });
        grant.addOIDCScope('openid email profile');
        await grant.save();
        return grant;
      },
      ttl: { Session: 3600, Interaction: 3600, Grant: 3600, AuthorizationCode: 3600, AccessToken: 3600, IdToken: 3600 },
    });
  provider = await quietly(async () => configured());

  async function handle(request: IncomingMessage, response: ServerResponse) {
    const isInteraction = request.url?.startsWith('/interaction/');
    if (!isInteraction) return void provider?.callback()(request, response);
    if (request.method === 'GET') {
      response.setHeader('content-type', 'text/html');
      const field = '<label for="login">User name</label><input id="login" name="login">';
      return void response.end(page(`<form method="post">${field}<button>Sign in there</button></form>`));
    }
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const accountId = new URLSearchParams(Buffer.concat(chunks).toString()).get('login') ?? '';
    const result = people.has(accountId)
      ? { login: { accountId, remember: true } }
      : { error: 'access_denied', error_description: 'nobody is called that' };
    await provider?.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
  }

  return {
    issuer,
    clientId: 'gatehouse',
    clientSecret,
    people,
    /** The logout tokens that it has sent to its client's back-channel logout, oldest first. */
    logoutTokens,
    /** Returns a logout token without a `sid`: all of the person's sessions are over. */
    signsOutEverywhere: (sub: string) =>
      new SignJWT({ sub, jti: randomUUID(), events: { 'http://schemas.openid.net/event/backchannel-logout': {} } })
        .setProtectedHeader({ alg: 'RS256', kid: 'key', typ: 'logout+jwt' })
        .setIssuer(issuer)
        .setAudience('gatehouse')
        .setIssuedAt()
        .setExpirationTime('2m')
        .sign(privateKey),
    /** Returns an empty cookie jar of a browser at the provider. */
    newJar: () => new Map<string, string>(),
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export type OpenIdProvider = Awaited<ReturnType<typeof startOpenIdProvider>>;

type Jar = Map<string, string>;

/** Sends a request with a browser's cookies at the provider, and keeps the cookies of the answer. */
async function ask(url: string, jar: Jar, form: Record<string, string> | null = null): Promise<Response> {
  const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
  const response = await fetch(url, {
    redirect: 'manual',
    headers: { cookie, ...(form !== null && { 'content-type': 'application/x-www-form-urlencoded' }) },
    ...(form !== null && { method: 'POST', body: new URLSearchParams(form).toString() }),
  });
  for (const set of response.headers.getSetCookie()) {
    const [name = '', value = ''] = set.slice(0, set.indexOf(';')).split('=');
    if (value === '') jar.delete(name);
    else jar.set(name, value);
  }
  return response;
}

/** Confirms the provider's sign-out page; returns where it sends the browser back to. */
export async function signOutThere(url: string, jar: Jar): Promise<string> {
  const page = await (await ask(url, jar)).text();
  const action = /action="([^"]+)"/.exec(page)?.[1] ?? '';
  const xsrf = /name="xsrf" value="([^"]+)"/.exec(page)?.[1] ?? '';
  if (!action) throw new Error(`the provider does not ask at ${url}`);
  const done = await ask(action, jar, { xsrf, logout: 'yes' });
  await done.text();
  return done.headers.get('location') ?? '';
}

/**
 * Follows a redirect of Gatehouse to the provider, signs in there if asked, and returns where the provider sends the
 * browser back to. With the same `jar` the provider recognizes the person.
 */
export async function signInThere(url: string, login: string, jar: Jar = new Map()): Promise<string> {
  const { origin } = new URL(url);
  let next = url;
  let form: Record<string, string> | null = null;
  for (let steps = 0; steps < 12; steps += 1) {
    const response = await ask(next, jar, form);
    const location = response.headers.get('location');
    await response.text();
    if (location !== null) {
      next = new URL(location, next).href;
      form = null;
      if (!next.startsWith(`${origin}/`)) return next;
    } else if (response.status === 200 && form === null) {
      form = { login };
    } else throw new Error(`the provider answered ${response.status} at ${next}`);
  }
  throw new Error('the provider goes in circles');
}

/** Runs work without the provider's console warnings against use in production. */
async function quietly<T>(work: () => Promise<T>): Promise<T> {
  const { warn } = console;
  console.warn = () => {};
  try {
    return await work();
  } finally {
    console.warn = warn;
  }
}
