import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import * as oidc from 'openid-client';
import { redirectUri } from '../../support/seed.js';
import { until } from '../../support/until.js';
import { createUserAgent } from '../../support/user-agent.js';
import { newKey, type Request } from './client.js';
import { linkTokenIn } from './mails.js';
import type { World } from './world.js';

/** What the customer ends up with. */
interface Customer {
  token: string;
  /** The path of their development Environment in the Portal. */
  environment: string;
}

/** Asks the apis in turn until one gives the expected answer. @returns its `data` */
type Ask = (what: string, request: Request, status?: number) => Promise<Record<string, unknown>>;

/**
 * Does Gatehouse's main job from nothing to a webhook, for one customer whose requests alternate between the apis: a
 * registration, its mail and link, an Account, a node, a role and a person in it, that person's sign-in by a stock
 * client, the decision about them, and the events at the customer's receiver. Half-way, one api and one worker are
 * killed.
 */
export async function doTheMainJob(world: World): Promise<void> {
  const { service, receiver } = world;
  const ask: Ask = async (what, request, status = 201) => {
    const key = request.method === 'GET' ? {} : { idempotencyKey: newKey() };
    const decided = await world.client.decided(what, { ...key, ...request });
    if (decided?.status !== status) throw new Error(`${what}: ${decided?.status} ${decided?.body}`);
    return JSON.parse(decided.body).data;
  };
  const { token, environment } = await becomeCustomer(world, ask);
  const inEnvironment = (what: string, path: string, json: object, status?: number) =>
    ask(what, { path: `${environment}${path}`, json, headers: { authorization: `Bearer ${token}` } }, status);

  const killed = [service.api, service.worker];
  await Promise.all(killed.map((part) => part.kill('SIGKILL')));
  const path = `/main-job/${randomUUID()}`;
  await inEnvironment('subscribe', '/webhooks', { url: receiver.url(path), event_types: ['role_assignment.created'] });
  const organization = await inEnvironment('create node', '/nodes', { node_type: 'organization', name: 'Globex' });
  const permission = { key: 'invoice.view', name: 'View invoices' };
  await inEnvironment('register permission', '/permissions', permission);
  const role = await inEnvironment('create role', '/roles', { name: 'Accountant', permission_keys: [permission.key] });
  const person = { email: `lena-${randomUUID()}@chaos.example`, password: `long enough ${newKey()}` };
  const identity = await inEnvironment('create identity', '/identities', { ...person, email_verified: true });
  const assignment = { role_id: role.id, node_id: organization.id };
  await inEnvironment('assign role', `/identities/${identity.id}/role-assignments`, assignment);
  const question = { identity_id: identity.id, permission: permission.key, node_id: organization.id };
  const decision = await inEnvironment('evaluate', '/authorization/evaluate', question, 200);
  if (!decision.allowed) throw new Error(`not allowed: ${JSON.stringify(decision)}`);

  const application = { name: 'Shop', client_type: 'public', redirect_uris: [redirectUri] };
  const client = await inEnvironment('create client', '/oauth-clients', application);
  const subject = await signIn(world, client.client_id as string, person);
  if (subject !== identity.id) throw new Error(`${subject} signed in instead of ${identity.id}`);
  await until('the receiver is told of the role', () => receiver.at(path).length > 0);
  for (const part of killed) await part.start();
}

async function becomeCustomer({ mails }: World, ask: Ask): Promise<Customer> {
  const person = { email: `founder-${randomUUID()}@chaos.example`, password: `long enough ${newKey()}` };
  const names = { first_name: 'Ada', last_name: 'Kovač', account_name: 'Initech', application_name: 'Shop' };
  await ask('register', { path: '/v1/auth/register', json: { ...person, ...names } });
  const mail = await until('the verification mail', () => mails.deliveredTo(person.email)[0]);
  await ask('confirm', {
    path: '/v1/auth/verify-email',
    json: { token: linkTokenIn(mail.raw), password: person.password },
  });
  const { access_token: token } = await ask('admin sign in', { path: '/v1/auth/login', json: person }, 200);
  const headers = { authorization: `Bearer ${token}` };
  const me = await ask('who am I', { method: 'GET', path: '/v1/auth/me', headers }, 200);
  const [{ slug } = { slug: '' }] = me.accounts as { slug: string }[];
  const account = `/portal/v1/accounts/${slug}`;
  return { token: token as string, environment: `${account}/applications/shop/environments/development` };
}

/** Signs a person in with a client library that knows nothing of Gatehouse. @returns the claims that it got */
async function signIn({ service }: World, clientId: string, person: { email: string; password: string }) {
  const send = spread(service.apis.map(({ healthUrl }) => healthUrl));
  const config = await oidc.discovery(new URL(service.baseUrl), clientId, {}, oidc.None(), {
    execute: [oidc.allowInsecureRequests, oidc.enableNonRepudiationChecks],
    [oidc.customFetch]: (at, init) => send(at, init as RequestInit),
  });
  const pkceCodeVerifier = oidc.randomPKCECodeVerifier();
  const [expectedState, expectedNonce] = [oidc.randomState(), oidc.randomNonce()];
  const url = oidc.buildAuthorizationUrl(config, {
    redirect_uri: redirectUri,
    scope: 'openid email',
    state: expectedState,
    nonce: expectedNonce,
    code_challenge: await oidc.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
  });
  const agent = createUserAgent(send);
  const page = await agent.open(url, { until: redirectUri });
  const back = await agent.submit(page, person, { until: redirectUri });
  const checks = { pkceCodeVerifier, expectedState, expectedNonce };
  return (await oidc.authorizationCodeGrant(config, new URL(back.url), checks)).claims()?.sub;
}

/** Distributes requests like a load balancer: to the next api, or to the one after it if nothing listens. */
function spread(origins: readonly string[]) {
  let turn = 0;
  return async (url: string | URL, init?: RequestInit): Promise<Response> => {
    const { pathname, search } = new URL(url);
    for (;;) {
      const origin = origins[turn++ % origins.length];
      const answer = await fetch(`${origin}${pathname}${search}`, init).catch(
        (error: { cause?: { code?: string } }) => {
          if (error.cause?.code === 'ECONNREFUSED') return null;
          throw error;
        },
      );
      if (answer) return answer;
      await sleep(50);
    }
  };
}
