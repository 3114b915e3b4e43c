import { randomBytes } from 'node:crypto';
import type { LightMyRequestResponse } from 'fastify';
import { identityInviteToken } from '../../src/domain/identity-invites/link.js';
import type { EnvironmentScope } from '../../src/platform/scope.js';
import { sealing } from './administrators.js';
import { outcomeOf } from './answers.js';
import type { TestApi } from './api.js';
import type { Calls } from './nodes.js';
import { rowsOf } from './rows.js';

export const newAddress = () => `ivo.${randomBytes(6).toString('hex')}@example.com`;

/** @param linkNumber 1 for the first link, 2 for the one that was resent */
export const linkTokenOf = (id: string, linkNumber = 1) => identityInviteToken(sealing, { id, linkNumber }).token;

export interface MadeInvite extends Record<string, unknown> {
  id: string;
  email: string;
  token: string;
}

type Posts = (method: 'POST', path: string, payload?: object) => Promise<LightMyRequestResponse>;

/** Invites a person; returns the invite with the token of the mailed link. @throws Error if it is refused */
export async function inviteTo(call: Posts, path: string, body: object = {}): Promise<MadeInvite> {
  const answer = await call('POST', path, { email: newAddress(), first_name: 'Ivo', last_name: 'Kern', ...body });
  if (answer.statusCode !== 201) throw new Error(`${outcomeOf(answer)} ${answer.body}`);
  const { data } = answer.json();
  return { ...data, token: linkTokenOf(data.id) };
}

/** Creates a role of the Environment with these permissions. */
export async function newRole(call: Calls, permission_keys: string[] = []): Promise<string> {
  const answer = await call('POST', '/roles', { name: `Role ${randomBytes(4).toString('hex')}`, permission_keys });
  if (answer.statusCode !== 201) throw new Error(answer.body);
  return answer.json().data.id;
}

/** Returns the roles that a person holds in an Environment, by node. */
export const heldBy = (api: TestApi, { environmentId }: EnvironmentScope, email: string) =>
  rowsOf<{ role_id: string; node_id: string }>(
    api,
    `select a.role_id, a.node_id from role_assignments a join identities i on i.id = a.identity_id
     where a.environment_id = $1 and i.email = $2 and a.removed_at is null order by a.role_id`,
    [environmentId, email],
  );

export const signInTo = async (api: TestApi, clientId: string, email: string, password: string) =>
  outcomeOf(
    await api.app.inject({
      method: 'POST',
      url: '/v1/identity/auth/login',
      payload: { client_id: clientId, email, password },
    }),
  );
