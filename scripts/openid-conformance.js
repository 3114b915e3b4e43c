// Prints the configuration of the OpenID Foundation's conformance suite for a service that `npm start` runs:
// node scripts/openid-conformance.js https://localhost.emobix.co.uk:8443 > gatehouse.json
// It creates four clients in the demo Environment, and makes the suite's own browser sign in as the first demo
// identity and check error pages and signed-out pages. docs/openid-certification.md says how to use it.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

const suite = process.argv[2]?.replace(/\/$/, '');
if (!suite) throw new Error('the address of the conformance suite is missing');
const alias = 'gatehouse';
const pathOfAlias = `/test/a/${alias}`;
const callbacks = suite + pathOfAlias;
// Gatehouse resolves the names that it calls by DNS alone, so a name of the hosts file is none to it.
const calledBack = (process.argv[3]?.replace(/\/$/, '') ?? suite) + pathOfAlias;
const demo = JSON.parse(await readFile(join(process.env.DATA_DIR ?? '.data', 'demo.json'), 'utf8'));
const base = demo.base_url;
const authorize = `${base}/oauth/authorize*`;
const logout = `${base}/oauth/logout*`;
const seconds = 10;

async function post(path, body, token) {
  const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) };
  const response = await fetch(base + path, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
  return (await response.json()).data;
}

async function makeClient(token, method, more) {
  const { account_slug: account, application_slug: application, environment_slug: environment } = demo;
  const path = `/portal/v1/accounts/${account}/applications/${application}/environments/${environment}/oauth-clients`;
  const made = await post(
    path,
    {
      name: 'Conformance suite',
      client_type: 'confidential',
      token_endpoint_auth_method: method,
      require_pkce: false,
      redirect_uris: [`${callbacks}/callback`],
      post_logout_redirect_uris: [`${callbacks}/post_logout_redirect`],
      ...more,
    },
    token,
  );
  return { client_id: made.client_id, client_secret: made.client_secret };
}

/** Waits until the page shows the text; `mark` submits the page if the module asks for it. */
const shows = (text, mark) => ['wait', 'xpath', '//*', seconds, text, ...(mark ? [mark] : [])];
const press = (css) => ['click', 'css', css];

const [{ email, password }] = demo.identities;
const signIn = (...before) => ({
  match: authorize,
  tasks: [
    {
      task: 'Sign in',
      optional: true, // a person who is signed in already sees no page
      match: authorize,
      commands: [
        ...before,
        ['text', 'id', 'email', email],
        ['text', 'id', 'password', password],
        press('button[class="button"]'),
      ],
    },
    { task: 'Back', match: `${callbacks}/callback*`, commands: [['wait', 'id', 'submission_complete', seconds]] },
  ],
});
const signInAgain = { browser: [signIn(shows('Sign in', 'update-image-placeholder-optional'))] };
const refusal = (match) => ({
  match,
  tasks: [{ task: 'Error page', match, commands: [shows('This link does not work', 'update-image-placeholder')] }],
});
const refusedLogout = { browser: [signIn(), refusal(logout)] };
const signOut = (...confirm) => ({
  browser: [
    signIn(),
    {
      match: logout,
      tasks: [
        {
          task: 'Signed out',
          match: logout,
          commands: [...confirm, shows('You are signed out', 'update-image-placeholder')],
        },
      ],
    },
  ],
});
const confirmed = signOut(press('button[value="yes"]'));

const token = (await post('/v1/auth/login', demo.admin)).access_token;
const configuration = {
  alias,
  description: 'Gatehouse',
  server: { discoveryUrl: `${base}/.well-known/openid-configuration`, login_hint: email },
  client: await makeClient(token, 'client_secret_basic'),
  client2: await makeClient(token, 'client_secret_basic'),
  client_secret_post: await makeClient(token, 'client_secret_post'),
  browser: [signIn(), { match: logout, tasks: [{ task: 'Back', match: `${callbacks}/post_logout_redirect*` }] }],
  override: {
    'oidcc-prompt-login': signInAgain,
    'oidcc-max-age-1': signInAgain,
    'oidcc-response-type-missing': { browser: [refusal(authorize)] },
    'oidcc-ensure-registered-redirect-uri': { browser: [refusal(authorize)] },
    'oidcc-ensure-request-object-with-redirect-uri': { browser: [refusal(authorize)] },
    'oidcc-redirect-uri-query-added': { browser: [refusal(authorize)] },
    'oidcc-rp-initiated-logout-bad-post-logout-redirect-uri': refusedLogout,
    'oidcc-rp-initiated-logout-query-added-to-post-logout-redirect-uri': refusedLogout,
    'oidcc-rp-initiated-logout-modified-id-token-hint': refusedLogout,
    'oidcc-rp-initiated-logout-bad-id-token-hint': refusedLogout,
    'oidcc-rp-initiated-logout-no-id-token-hint': refusedLogout,
    'oidcc-rp-initiated-logout-no-params': confirmed,
    'oidcc-rp-initiated-logout-only-state': confirmed,
    'oidcc-rp-initiated-logout-no-post-logout-redirect-uri': signOut(),
    // Its own client: any other module fails when it is called at an address that it does not expect.
    'oidcc-backchannel-rp-initiated-logout': {
      client: await makeClient(token, 'client_secret_basic', {
        backchannel_logout_uri: `${calledBack}/backchannel_logout`,
      }),
    },
  },
};
process.stdout.write(`${JSON.stringify(configuration, null, 2)}\n`);
