import { randomUUID } from 'node:crypto';
import type { LightMyRequestResponse } from 'fastify';
import { newAccount, send, startApi, type TestAccount, type TestApi } from './api.js';
import { rowsOf } from './rows.js';

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
export type ScimCall = (
  method: Method,
  path: string,
  payload?: unknown,
  headers?: Record<string, string>,
) => Promise<LightMyRequestResponse>;

/** Creates a SCIM token of the Account's Development Environment, or of an organization in it. */
export async function newToken(api: TestApi, account: TestAccount, organizationId: string | null = null) {
  const answer = await send(api.app, 201, {
    method: 'POST',
    url: `/portal/v1/accounts/${account.accountSlug}/scim/tokens`,
    headers: await account.as('owner'),
    payload: { name: 'Directory', environment_id: account.scope.environmentId, organization_id: organizationId },
  });
  return answer.json().data as { id: string; token: string; token_preview: string };
}

export const scimOf =
  ({ app }: TestApi, token: string): ScimCall =>
  (method, path, payload, headers = {}) =>
    app.inject({
      method,
      url: `/scim/v2${path}`,
      headers: {
        authorization: `Bearer ${token}`,
        ...(payload !== undefined && { 'content-type': 'application/scim+json' }),
        ...headers,
      },
      ...(payload !== undefined && { payload: typeof payload === 'string' ? payload : JSON.stringify(payload) }),
    });

export const newDirectory = async (api: TestApi, account: TestAccount, organizationId: string | null = null) =>
  scimOf(api, (await newToken(api, account, organizationId)).token);

/** Starts an api, with an Account and the directory of its Development Environment. */
export async function startDirectory() {
  const api = await startApi();
  const account = await newAccount(api);
  return { api, account, call: await newDirectory(api, account) };
}

/** Returns `409 uniqueness`; for a success the status alone. */
export const scimOutcome = (response: LightMyRequestResponse): string =>
  [response.statusCode, response.body && response.json().scimType].filter(Boolean).join(' ');

export const anAddress = (domain = 'example.com') => `p-${randomUUID()}@${domain}`;
export const operations = (...list: object[]) => ({
  schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
  Operations: list,
});

export async function newUser(
  call: ScimCall,
  more: object = {},
): Promise<{ id: string; userName: string; name?: object; meta: { version: string } }> {
  const answer = await call('POST', '/Users', { userName: anAddress(), ...more });
  if (answer.statusCode !== 201) throw new Error(`${answer.statusCode} ${answer.body}`);
  return answer.json();
}

export async function newGroup(call: ScimCall, displayName: string, ...memberIds: string[]): Promise<string> {
  const answer = await call('POST', '/Groups', { displayName, members: memberIds.map((value) => ({ value })) });
  if (answer.statusCode !== 201) throw new Error(`${answer.statusCode} ${answer.body}`);
  return answer.json().id;
}

/** Creates an object of the Environment over the Public API. */
export async function make(api: TestApi, account: TestAccount, url: string, payload: object) {
  const headers = await account.apiKey();
  const answer = await send(api.app, 201, { method: 'POST', url: `/api/v1${url}`, headers, payload });
  return answer.json().data as { id: string };
}

/** Inserts a verified domain of the Account or of an organization: other tests cover its DNS. */
export async function verified(
  api: TestApi,
  { scope }: TestAccount,
  organizationId: string | null = null,
  domain = `d-${randomUUID()}.example`,
): Promise<string> {
  await rowsOf(
    api,
    `insert into sso_domains (id, account_id, environment_id, organization_id, domain, token, status, claimed_by_type, claimed_by,
       created_at, started_at, verified_at)
     values (gen_random_uuid(), $1, $2, $3, $4, 'a token', 'verified', 'platform_admin', gen_random_uuid(), now(), now(), now())`,
    [scope.accountId, organizationId && scope.environmentId, organizationId, domain],
  );
  return domain;
}

/** Returns the roles that an Identity holds at nodes, as `role node`. */
export async function heldBy(api: TestApi, identityId: string): Promise<string[]> {
  const rows = await rowsOf<{ held: string }>(
    api,
    `select role_id || ' ' || node_id as held from role_assignments where identity_id = $1 and removed_at is null order by 1`,
    [identityId],
  );
  return rows.map(({ held }) => held);
}
