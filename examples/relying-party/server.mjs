// A relying party: a web application whose people sign in with Gatehouse. It uses only node:http, a standard OpenID
// Connect client library, and one for JWTs; nothing here is specific to Gatehouse. page.mjs renders the page.
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import * as oidc from 'openid-client';
import { pageHeaders, renderPage } from './page.mjs';

const { ISSUER = 'http://localhost:3000', CLIENT_ID = '', CLIENT_SECRET = '', PORT = '3001' } = process.env;
const issuer = new URL(ISSUER);
const origin = `http://127.0.0.1:${PORT}`;
const redirectUri = `${origin}/callback`;
const scope = 'openid profile email';

// Sessions are kept here; the browser holds only an opaque id. Cookies ignore ports, hence the port in the name.
const sessions = new Map();
const cookieName = `relying_party_${PORT}`;
const sessionLifeMs = 12 * 3_600_000;

/** The issuer's metadata, fetched when it is first needed, so that this can start before the issuer. */
let discovered;
function discover() {
  discovered ??= oidc
    .discovery(issuer, CLIENT_ID, {}, CLIENT_SECRET ? oidc.ClientSecretBasic(CLIENT_SECRET) : oidc.None(), {
      execute: [
        oidc.enableNonRepudiationChecks, // verifies the ID token with the issuer's keys, not only by the TLS connection
        ...(isLocal(issuer) ? [oidc.allowInsecureRequests] : []),
      ],
    })
    .catch((error) => {
      discovered = undefined; // so that the next call retries
      throw error;
    });
  return discovered;
}

const isLocal = ({ protocol, hostname }) => protocol === 'http:' && /^(localhost|127\.0\.0\.1|\[::1\])$/.test(hostname);

/** `/`: shows who is signed in, and what the issuer's userinfo endpoint says about them right now. */
async function home({ session, response }) {
  const { tokens, notice } = session ?? {};
  if (session) session.notice = undefined;
  if (!tokens) return send(response, 200, { notice });
  const config = await discover();
  const userinfo = await oidc
    .fetchUserInfo(config, tokens.access_token, tokens.claims.sub)
    .catch((error) => ({ error: reasonOf(error) }));
  send(response, 200, { notice, claims: tokens.claims, userinfo, expiresAt: tokens.expiresAt });
}

/**
 * `/login`: redirects the browser to the issuer. The secrets of this attempt stay in the session. This can also be the
 * client's `initiate_login_uri`: the issuer then redirects people here who have used a mailed link, perhaps on another
 * device, and says who they are.
 */
async function login({ url, session, response }) {
  const config = await discover();
  const verifier = oidc.randomPKCECodeVerifier();
  const nonce = oidc.randomNonce();
  const state = `${url.searchParams.has('again') ? 'again.' : ''}${oidc.randomState()}`;
  session ??= newSession(response);
  session.attempts.set(state, { verifier, nonce });
  const parameters = { redirect_uri: redirectUri, scope, state, nonce, code_challenge_method: 'S256' };
  const challenge = await oidc.calculatePKCECodeChallenge(verifier);
  const hint = url.searchParams.get('login_hint');
  if (hint) parameters.login_hint = hint;
  redirect(response, oidc.buildAuthorizationUrl(config, { ...parameters, code_challenge: challenge }).href);
}

/** `/callback`: receives the issuer's answer through the browser, and exchanges its code for tokens. */
async function callback({ url, session, response }) {
  const state = url.searchParams.get('state') ?? '';
  const attempt = session?.attempts.get(state);
  if (!attempt) {
    // An answer that we did not request (a bookmarked link, or an attack) signs nobody in. Our own request costs the
    // person nothing: the issuer knows them by now and answers at once. Only once: without cookies this would loop.
    if (url.searchParams.has('code') && !state.startsWith('again.')) return redirect(response, '/login?again');
    throw new Error('This answer belongs to no sign-in of this browser. Are its cookies blocked?');
  }
  session.attempts.delete(state);
  const checks = { expectedState: state, expectedNonce: attempt.nonce, pkceCodeVerifier: attempt.verifier };
  const tokens = await oidc.authorizationCodeGrant(await discover(), url, checks);
  sessions.delete(session.id);
  newSession(response).tokens = kept(tokens); // under a new id: nobody can have fixed it before
  redirect(response, '/');
}

/** `/refresh`: gets a new access token without involving the person. */
async function refresh({ session, response }) {
  session.tokens = kept(await oidc.refreshTokenGrant(await discover(), session.tokens.refresh_token), session.tokens);
  session.notice = 'The tokens were refreshed.';
  redirect(response, '/');
}

/** `/revoke`: revokes the tokens at the issuer; the sign-in at the issuer itself stays. */
async function revoke({ session, response }) {
  await oidc.tokenRevocation(await discover(), session.tokens.refresh_token);
  session.notice = 'The tokens were revoked.';
  redirect(response, '/');
}

/** `/logout`: ends the session here, and asks the issuer to do the same (OpenID Connect RP-Initiated Logout). */
async function logout({ session, response }) {
  sessions.delete(session.id);
  const parameters = { id_token_hint: session.tokens.id_token, post_logout_redirect_uri: `${origin}/` };
  redirect(response, oidc.buildEndSessionUrl(await discover(), parameters).href);
}

/**
 * `/backchannel-logout`: the issuer's server says that a session has ended there, by whatever signed the person out
 * (OpenID Connect Back-Channel Logout 1.0). No browser is involved, so the session is found by what the token names.
 */
async function backchannelLogout({ request, response }) {
  const { sid, sub } = await logoutOf(new URLSearchParams(await bodyOf(request)).get('logout_token') ?? '');
  for (const { id, tokens } of sessions.values()) {
    const isNamed = sid ? tokens?.claims.sid === sid : tokens?.claims.sub === sub;
    if (isNamed) sessions.delete(id);
  }
  response.writeHead(200, { 'cache-control': 'no-store' }).end();
}

const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout';
let issuerKeys;

/** Returns what a logout token names. @throws if it is not the issuer's, not for us, or of another kind (§2.6) */
async function logoutOf(token) {
  const metadata = (await discover()).serverMetadata();
  issuerKeys ??= createRemoteJWKSet(new URL(metadata.jwks_uri));
  const { payload } = await jwtVerify(token, issuerKeys, {
    issuer: metadata.issuer,
    audience: CLIENT_ID,
    typ: 'logout+jwt',
    requiredClaims: ['iat', 'exp', 'jti'],
  });
  const { events, sid, sub, nonce } = payload;
  if (!events?.[logoutEvent] || !(sid ?? sub) || nonce !== undefined) throw new Error('This is no logout token.');
  return { sid, sub };
}

async function bodyOf(request) {
  let body = '';
  for await (const part of request.setEncoding('utf8')) {
    body += part;
    if (body.length > 65_536) throw new Error('This is too long for a logout token.');
  }
  return body;
}

/** Returns what later requests need of the issuer's answer; a refresh may omit what has not changed. */
const kept = (tokens, earlier) => ({
  access_token: tokens.access_token,
  refresh_token: tokens.refresh_token ?? earlier?.refresh_token,
  id_token: tokens.id_token ?? earlier?.id_token,
  claims: tokens.claims() ?? earlier?.claims,
  expiresAt: new Date(Date.now() + tokens.expiresIn() * 1000),
});

function newSession(response) {
  const session = { id: randomBytes(32).toString('base64url'), attempts: new Map() };
  sessions.set(session.id, session);
  setTimeout(() => sessions.delete(session.id), sessionLifeMs).unref();
  response.setHeader('set-cookie', `${cookieName}=${session.id}; HttpOnly; SameSite=Lax; Path=/`);
  return session;
}

function sessionOf({ headers }) {
  const cookies = (headers.cookie ?? '').split('; ').map((pair) => pair.split('='));
  return sessions.get(cookies.find(([name]) => name === cookieName)?.[1]);
}

const redirect = (response, location) => response.writeHead(303, { location }).end();
const send = (response, status, view) =>
  response.writeHead(status, pageHeaders(issuer.origin)).end(renderPage({ ...view, issuer: issuer.origin }));

/** Returns the reason of a refusal: from the token endpoint's JSON, a WWW-Authenticate header, or the network. */
const reasonOf = ({ error_description, error, cause, message }) =>
  error_description ?? error ?? cause?.[0]?.parameters?.error_description ?? cause?.message ?? message;

// Changes are POST requests: SameSite=Lax withholds the cookie from those that other sites send.
const routes = {
  'GET /': home,
  'GET /login': login,
  'GET /callback': callback,
  'POST /backchannel-logout': backchannelLogout, // proves itself by its signature
};
const signedInRoutes = { 'POST /refresh': refresh, 'POST /revoke': revoke, 'POST /logout': logout };

const server = createServer(async (request, response) => {
  try {
    const url = new URL(request.url, origin);
    const name = `${request.method} ${url.pathname}`;
    const session = sessionOf(request);
    if (routes[name]) await routes[name]({ request, url, session, response });
    else if (!signedInRoutes[name]) send(response, 404, { error: 'There is nothing at this address.' });
    else if (session?.tokens) await signedInRoutes[name]({ session, response });
    else redirect(response, '/');
  } catch (error) {
    send(response, 400, { error: reasonOf(error) });
  }
});
server.once('error', ({ message }) => {
  process.stderr.write(`The example cannot listen: ${message}\n`);
  process.exitCode = 1;
});
server.listen(Number(PORT), '127.0.0.1', () => process.stdout.write(`The example relying party is at ${origin}\n`));
