import { randomUUID } from 'node:crypto';
import type { LightMyRequestResponse } from 'fastify';
import { outcomeOf } from '../answers.js';
import { newAccount, type TestAccount, type TestApi } from '../api.js';
import { keyKeeper } from '../key-keeper.js';
import { type Calls, callsWith, rootOf } from '../nodes.js';
import { newPublicClient } from '../public-client.js';
import type { Random } from '../random.js';
import { newToken, type ScimCall, scimOf } from '../scim.js';
import { DirectoriesModel, type DirectoryId } from './model.js';
import { createDirectoryRules, type DirectoryRules } from './rules.js';

/** An Environment whose people two directories provision: the Account's and an organization's, or two organizations'. */
export interface World {
  api: TestApi;
  account: TestAccount;
  random: Random;
  /** Whether one of the directories is the Account's. */
  hasAccount: boolean;
  model: DirectoriesModel;
  rules: DirectoryRules;
  /** With a key of the Environment, and with one of the other, production. */
  key: Calls;
  production: Calls;
  /** As an Owner. */
  portal: Calls;
  clientId: string;
  tokens: Map<DirectoryId, { id: string; call: ScimCall }>;
  /** The access token with which somebody has signed in last. */
  sessions: Map<string, string>;
  domains: string[];
  /** The permission of each role. */
  permissions: string[];
  made: number;
}

/** Expects an answer, and says of a wrong one to which request it is. */
export function expectOutcome(answer: LightMyRequestResponse, expected: string): void {
  const { method, url } = answer.raw.req;
  expect(`${method} ${url}: ${outcomeOf(answer)}`).toBe(`${method} ${url}: ${expected}`);
}

export const now = ({ api }: World) => api.clock.now.getTime();
export const password = 'violet tractor 19';
export const callOf = ({ tokens }: World, directory: DirectoryId) => tokens.get(directory)!.call;
export const directoriesOf = ({ model, hasAccount }: World): DirectoryId[] => [
  ...(hasAccount ? [model.environment] : []),
  ...model.members.keys(),
];
export const someDirectory = (world: World) => world.random.of(directoriesOf(world));
export const someOrganization = ({ random, model }: World) => random.of([...model.members.keys()]);
export const someNode = ({ random, model }: World) => random.of([...model.access.nodes.keys()]);
export const someRole = ({ random, model }: World) => random.of([...model.access.roles.keys()]);
/** Somebody of the Environment, or who was. */
export const somebody = ({ random, model }: World) => {
  const here = model.people.filter(({ joinedAt }) => joinedAt !== null);
  return random.of(here.length > 0 && random.below(8) > 0 ? here : model.people);
};
export const newAddress = (world: World) => `p${++world.made}@${world.random.of(world.domains)}`;
/** An address of nobody, or sometimes of somebody. */
export const someAddress = (world: World) =>
  world.random.below(3) > 0 ? newAddress(world) : (somebody(world)?.email ?? newAddress(world));

async function newKey(api: TestApi, account: TestAccount, scope = account.scope): Promise<Calls> {
  const everything = { name: 'test', description: null, accessMode: 'full' as const, scopes: [], expiresAt: null };
  const { secret } = await api.services.apiKeyManagement.create(scope, keyKeeper(account.userId), everything);
  return callsWith(api, { 'x-api-key': secret });
}

export async function newWorld(api: TestApi, random: Random): Promise<World> {
  const account = await newAccount(api);
  const key = await newKey(api, account);
  const root = (await rootOf(key)).id;
  const permissions = ['door.open', 'door.lock', 'door.paint'];
  const model = new DirectoriesModel(account.scope.environmentId, root, new Set(permissions));
  const world: World = {
    api,
    account,
    random,
    hasAccount: random.below(2) === 0,
    model,
    rules: createDirectoryRules(model),
    key,
    production: await newKey(api, account, account.productionScope),
    portal: callsWith(api, await account.as('owner'), `/portal/v1/accounts/${account.accountSlug}`),
    clientId: (await newPublicClient(api, account.scope)).clientId,
    tokens: new Map(),
    sessions: new Map(),
    domains: Array.from({ length: 3 }, () => `d-${randomUUID()}.example`),
    permissions,
    made: 0,
  };
  for (const name of permissions) expect(outcomeOf(await key('POST', '/permissions', { key: name, name }))).toBe('201');
  for (const one of permissions) await makeRole(world, one);
  if (world.hasAccount) await makeToken(world, model.environment);
  await makeOrganization(world, root);
  if (!world.hasAccount) await makeOrganization(world, random.of([root, ...model.members.keys()]));
  for (const parent of [root, ...model.members.keys()]) await makeUnit(world, parent);
  return world;
}

export async function makeRole({ key, model, random }: World, permission: string): Promise<void> {
  const answer = await key('POST', '/roles', { name: `Role ${random.next()}`, permission_keys: [permission] });
  expect(outcomeOf(answer)).toBe('201');
  model.access.roles.set(answer.json().data.id, { isActive: true, keys: new Set([permission]), version: 1 });
}

/** Makes another token for a directory; the former one is refused from then on. */
export async function makeToken(world: World, directory: DirectoryId): Promise<void> {
  const { api, account, model, portal, tokens } = world;
  const former = tokens.get(directory);
  const { id, token } = await newToken(api, account, model.isOrganization(directory) ? directory : null);
  tokens.set(directory, { id, call: scimOf(api, token) });
  if (!former) return;
  expect(outcomeOf(await portal('DELETE', `/scim/tokens/${former.id}`))).toBe('204');
  expect((await former.call('GET', '/Users')).statusCode).toBe(401);
}

export async function makeOrganization(world: World, parent: string): Promise<void> {
  const { key, model } = world;
  const answer = await key('POST', '/organizations', { name: `Organization ${++world.made}`, parent_node_id: parent });
  expect(outcomeOf(answer)).toBe('201');
  const { id } = answer.json().data;
  model.access.nodes.set(id, { parent, type: 'organization', isActive: true, version: 1 });
  model.members.set(id, new Set());
  await makeToken(world, id);
}

export async function makeUnit(world: World, parent: string): Promise<void> {
  const { key, model } = world;
  const body = { parent_node_id: parent, node_type: 'unit', name: `Unit ${++world.made}` };
  const answer = await key('POST', '/nodes', body);
  expect(outcomeOf(answer)).toBe('201');
  model.access.nodes.set(answer.json().data.id, { parent, type: 'unit', isActive: true, version: 1 });
}
