// A relying party: a web application that lets Gatehouse sign its people in. Only node:http and a stock OpenID Connect
// client library; nothing in here knows Gatehouse. page.mjs draws the page.
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import * as oidc from 'openid-client';
import { pageHeaders, renderPage } from './page.mjs';

const { ISSUER = 'http://localhost:3000', CLIENT_ID = '', CLIENT_SECRET = '', PORT = '3001' } = process.env;
const issuer = new URL(ISSUER);
const origin = `http://127.0.0.1:${PORT}`;
const redirectUri = `${origin}/callback`;
const scope = 'openid profile email';

// Who is signed in is kept here; the browser holds a meaningless id. Cookies know no ports, hence the port in the name.
const sessions = new Map();
const cookieName = `relying_party_${PORT}`;
const sessionLifeMs = 12 * 3_600_000;

/** What the issuer says of itself, read when it is first needed, so that this starts before the issuer is up. */
let discovered;
function discover() {
  discovered ??= oidc
    .discovery(issuer, CLIENT_ID, {}, CLIENT_SECRET ? oidc.ClientSecretBasic(CLIENT_SECRET) : oidc.None(), {
      execute: [
        oidc.enableNonRepudiationChecks, // verify the ID token with the issuer's keys, not only by the TLS connection
        ...(isLocal(issuer) ? [oidc.allowInsecureRequests] : []),
      ],
    })
    .catch((error) => {
      discovered = undefined; // and ask again next time
      throw error;
    });
  return discovered;
}

const isLocal = ({ protocol, hostname }) => protocol === 'http:' && /^(localhost|127\.0\.0\.1|\[::1\])$/.test(hostname);

/** `/`: who is signed in, and what the issuer's userinfo endpoint says of them right now. */
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
 * `/login`: sends the browser to the issuer. What only we may know of this attempt stays in the session. It can be the
 * client's `initiate_login_uri`, too: the issuer then leads here who has used a mailed link, maybe on another device, and says who it is.
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

/** `/callback`: the browser brings the issuer's answer, and the code in it is exchanged for tokens. */
async function callback({ url, session, response }) {
  const state = url.searchParams.get('state') ?? '';
  const attempt = session?.attempts.get(state);
  if (!attempt) {
    // An answer that we did not ask for (a bookmarked link, or somebody's trick) signs nobody in. Asking ourselves costs
    // the person nothing: the issuer knows them by now and answers at once. Once, or a browser without cookies would circle.
    if (url.searchParams.has('code') && !state.startsWith('again.')) return redirect(response, '/login?again');
    throw new Error('This answer belongs to no sign-in of this browser. Are its cookies blocked?');
  }
  session.attempts.delete(state);
  const checks = { expectedState: state, expectedNonce: attempt.nonce, pkceCodeVerifier: attempt.verifier };
  const tokens = await oidc.authorizationCodeGrant(await discover(), url, checks);
  sessions.delete(session.id);
  newSession(response).tokens = kept(tokens); // under a new id, which nobody can have planted before
  redirect(response, '/');
}

/** `/refresh`: a new access token, without the person. */
async function refresh({ session, response }) {
  session.tokens = kept(await oidc.refreshTokenGrant(await discover(), session.tokens.refresh_token), session.tokens);
  session.notice = 'The tokens were refreshed.';
  redirect(response, '/');
}

/** `/revoke`: the issuer takes the tokens back; the sign-in at the issuer itself stays. */
async function revoke({ session, response }) {
  await oidc.tokenRevocation(await discover(), session.tokens.refresh_token);
  session.notice = 'The tokens were revoked.';
  redirect(response, '/');
}

/** `/logout`: forgets the person here, and asks the issuer to do the same (OpenID Connect RP-Initiated Logout). */
async function logout({ session, response }) {
  sessions.delete(session.id);
  const parameters = { id_token_hint: session.tokens.id_token, post_logout_redirect_uri: `${origin}/` };
  redirect(response, oidc.buildEndSessionUrl(await discover(), parameters).href);
}

/** What a later request needs of the issuer's answer; a refresh may leave out what has not changed. */
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

/** The words of whoever refused: the token endpoint's JSON, a WWW-Authenticate header, or the network. */
const reasonOf = ({ error_description, error, cause, message }) =>
  error_description ?? error ?? cause?.[0]?.parameters?.error_description ?? cause?.message ?? message;

// What changes something is a POST: SameSite=Lax keeps the cookie off those that other sites send.
const routes = { 'GET /': home, 'GET /login': login, 'GET /callback': callback };
const signedInRoutes = { 'POST /refresh': refresh, 'POST /revoke': revoke, 'POST /logout': logout };

const server = createServer(async (request, response) => {
  try {
    const url = new URL(request.url, origin);
    const name = `${request.method} ${url.pathname}`;
    const session = sessionOf(request);
    if (routes[name]) await routes[name]({ url, session, response });
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
