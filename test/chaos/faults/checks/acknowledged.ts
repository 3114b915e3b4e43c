import { decodeJwt } from 'jose';
import { madeFor, one } from '../../../support/chaos/registration.js';
import { rowsAsOwner } from '../../../support/database.js';
import { until } from '../../../support/until.js';
import type { Decided, Request } from '../client.js';
import { viaApi, viaPortal, type World } from '../world.js';
import type { Looked } from './looked.js';

/** Checks that the API returns every line of the ledger, and that everything with a unique name exists once. */
export async function acknowledgedIsThere(world: World): Promise<Looked> {
  const { ledger, client, seed } = world;
  const expectRead = async (what: string, request: Request, status: number, holds?: (body: string) => boolean) => {
    const answer = await viaApi(world, `read ${what}`, request);
    expectAnswer(world, `${what} at ${request.path}`, answer, status, holds);
  };
  const gone = (all: { id: string }[]) => new Set(all.map(({ id }) => id));

  const changes = new Map(ledger.of('identity change').map(({ id, firstName }) => [id, firstName]));
  for (const { id, email } of ledger.of('identity')) {
    const holds = (body: string) => {
      const { data } = JSON.parse(body) as { data: { email: string; first_name: string } };
      return data.email === email && (!changes.has(id) || data.first_name === changes.get(id));
    };
    await expectRead('identity', { path: `/identities/${id}` }, 200, holds);
  }
  const revoked = gone(ledger.of('invite revocation'));
  for (const { id } of ledger.of('invite')) {
    const asked = Date.now();
    await expectRead('invite', { path: `/identity-invites/${id}` }, 200, (body) => {
      const { status, expires_at } = JSON.parse(body).data as { status: string; expires_at: string };
      if (revoked.has(id)) return status === 'revoked';
      return status === (Date.parse(expires_at) > asked ? 'pending' : 'expired') || Date.parse(expires_at) < Date.now();
    });
  }
  const unsubscribed = gone(ledger.of('webhook deletion'));
  for (const { id } of ledger.of('webhook')) {
    await expectRead('webhook', { path: `/webhooks/${id}` }, unsubscribed.has(id) ? 404 : 200);
  }
  for (const { id } of ledger.of('role')) await expectRead('role', { path: `/roles/${id}` }, 200);
  const removed = gone(ledger.of('assignment removal'));
  const assigned = new Map<string, Set<string>>();
  for (const { id, identityId } of ledger.of('assignment')) {
    const held = assigned.get(identityId) ?? (await assignmentsOf(world, identityId));
    assigned.set(identityId, held);
    if (held.has(id) === removed.has(id)) world.find(`assignment ${id}: ${removed.has(id) ? 'still' : 'not'} there`);
  }
  const deleted = gone(ledger.of('API key deletion'));
  for (const { id, secret } of ledger.of('API key')) {
    const request = { path: `/api/v1/api-keys/${id}`, headers: { 'x-api-key': secret } };
    const answer = await client.decided('read API key', request);
    expectAnswer(world, `API key ${id}`, answer, deleted.has(id) ? 401 : 200);
  }
  await tokensAreGood(world);
  for (const { domain, published } of ledger.of('domain')) await domainIs(world, domain, published);
  for (const { email, password } of ledger.of('registration')) {
    const made = await madeFor(world.service, { email, password });
    if (JSON.stringify(made) !== JSON.stringify(one)) world.find(`registration ${email} made ${JSON.stringify(made)}`);
  }
  await keysMadeOneRow(world);
  return [['people', Number((await countOf(world, 'identities', seed.scope.accountId)) ?? 0)]];
}

function expectAnswer(
  { find }: World,
  what: string,
  answer: Decided | null,
  status: number,
  holds: (body: string) => boolean = () => true,
): void {
  if (answer?.status === status && (status !== 200 || holds(answer.body))) return;
  find(`acknowledged, and not so: ${what}: ${answer?.status} ${answer?.body.slice(0, 300)}`);
}

async function assignmentsOf(world: World, identityId: string): Promise<Set<string>> {
  const found = new Set<string>();
  for (let page = 1; ; page++) {
    const path = `/identities/${identityId}/role-assignments?take=100&page=${page}`;
    const answer = await viaApi(world, 'read assignments', { path });
    const { items } = JSON.parse(answer?.body ?? '{}') as { items?: { assignment_id: string }[] };
    for (const { assignment_id: id } of items ?? []) found.add(id);
    if (!items || items.length < 100) return found;
  }
}

/** Checks the first, unused refresh token of each sign-in, and the last answered one of each family. */
async function tokensAreGood(world: World): Promise<void> {
  const { client, ledger, seed } = world;
  const last = new Map(ledger.of('refresh').map(({ family, refreshToken }) => [family, refreshToken]));
  const newest = new Map<string, [string, string]>();
  for (const [family, token] of last) newest.set(family.split('.')[0] as string, [family, token]);
  const tokens: [string, string][] = [
    ...ledger.of('login').map(({ refreshToken }, i): [string, string] => [`login ${i}`, refreshToken]),
    ...newest.values(),
  ];
  for (const [what, refresh_token] of tokens) {
    const form = { grant_type: 'refresh_token', client_id: seed.publicClient, refresh_token };
    expectAnswer(world, what, await client.decided('refresh afterwards', { path: '/oauth/token', form }), 200);
  }
  for (const { accessToken } of ledger.of('admin login')) {
    if (Number(decodeJwt(accessToken).exp) * 1000 < Date.now() + 60_000) continue; // has expired as it should
    const request = { path: '/v1/auth/me', headers: { authorization: `Bearer ${accessToken}` } };
    expectAnswer(world, 'admin login', await client.decided('who am I', request), 200);
  }
}

async function domainIs(world: World, domain: string, published: boolean): Promise<void> {
  const status = published ? 'verified' : 'pending';
  await until(`${domain} is ${status}`, async () => {
    const answer = await viaPortal(world, 'read domain', { path: `/sso/domains/${domain}` });
    return answer?.status === 200 && JSON.parse(answer.body).data.status === status;
  }).catch((error: Error) => world.find(`domain: ${error.message}`));
}

/** Each request had its own key and its own name, so two rows of one name come from one request. */
async function keysMadeOneRow({ service: { ownerUrl }, find }: World): Promise<void> {
  for (const [table, column, which] of [
    ['api_keys', 'name', `name like 'Key %'`],
    ['webhooks', 'url', `url like '%/other/%'`],
    ['identity_invites', 'email', `email like 'guest-%'`],
    ['users', 'email', `email like 'customer-%'`],
    ['identities', 'email', `email like 'person-%'`],
    ['roles', 'name', `name like 'Role %'`],
  ] as const) {
    const text = `select ${column}::text as what, count(*)::int from ${table} where ${which} group by ${column} having count(*) > 1`;
    for (const { what, count } of await rowsAsOwner(ownerUrl, text, [])) find(`${table}: ${count} rows for ${what}`);
  }
}

const countOf = async ({ service }: World, table: string, accountId: string) =>
  (await rowsAsOwner(service.ownerUrl, `select count(*)::int from ${table} where account_id = $1`, [accountId]))[0]
    ?.count;
