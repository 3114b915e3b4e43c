import type { LightMyRequestResponse } from 'fastify';
import type { TestApi } from '../api.js';
import { type Given, newUnique } from '../operations/example.js';
import { type Kind, kinds } from '../operations/kinds.js';
import { newPlaces, type Place } from '../operations/place.js';
import { createRandom, type Random } from '../random.js';
import { rowsOf } from '../rows.js';
import { newToken, type ScimCall, scimOf, verified } from '../scim.js';
import type { Picture, Row } from './picture.js';
import { subscribeTo } from './readers.js';

/** An Account with two Environments that share their people, and whoever changes something in it. */
export interface World {
  api: TestApi;
  random: Random;
  places: readonly [Place, Place];
  /** As it was after the last step. */
  picture: Picture;
  /** What acts, and is not acted on. */
  spared: Set<string>;
  /** Of the first Environment, and of organizations in it. */
  directories: { tokenId: string; call: ScimCall }[];
  /** A domain of the Account. */
  domain: string;
  /** Subscriptions to everything: of the Account, and of each Environment. */
  subscriptions: string[];
}

/** A request that was sent, and who must be named as its actor: a type, or a type and an id; null: anybody. */
export interface Sent {
  answer: LightMyRequestResponse;
  actor: string | null;
}

export async function newWorld(api: TestApi, seed: number): Promise<World> {
  const { development, production } = await newPlaces(api);
  const { account } = development;
  const urls = [account.portalPath('/webhooks'), account.portalPath('/webhooks', 'production')];
  const subscriptions: string[] = [];
  for (const url of [`/portal/v1/accounts/${account.accountSlug}/webhooks`, ...urls])
    subscriptions.push(await subscribeTo(development, url));
  const acting = await rowsOf<{ id: string }>(
    api,
    `select id from api_keys where account_id = $1 union all select id from oauth_clients where account_id = $1
     union all select id from memberships where account_id = $1`,
    [account.scope.accountId],
  );
  const places = [development, production] as const;
  const callers = places.map(({ identity }) => identity.id);
  return {
    api,
    random: createRandom(seed),
    places,
    picture: new Map(),
    spared: new Set([...acting.map(({ id }) => id), ...callers, ...subscriptions]),
    directories: [await newDirectory(development, null)],
    domain: await verified(api, account),
    subscriptions,
  };
}

/** Creates a directory's token. @param organizationId null: of the whole first Environment */
export async function newDirectory({ api, account }: Place, organizationId: string | null) {
  const { id: tokenId, token } = await newToken(api, account, organizationId);
  return { tokenId, call: scimOf(api, token) };
}

interface Naming {
  /** The kind of the picture. */
  as: string;
  /** Which of them; `of` is what they have to belong to. */
  which?: (row: Row, of?: string) => boolean;
  /** What names one, if that is not its id. */
  by?: string;
  isOfAccount?: true;
}

const inOrganization = ({ organization_id }: Row, of?: string) =>
  organization_id !== null && (!of || organization_id === of);
const belowRoot = ({ parent_node_id }: Row) => parent_node_id !== null;
const custom = ({ system_key }: Row) => system_key === null;
const ofAccount = { isOfAccount: true } as const;

/** What an id of an operation's input can name. */
const named: Partial<Record<Kind, Naming>> = {
  identity: { as: 'identity' },
  directoryIdentity: { as: 'identity' },
  node: { as: 'node', which: belowRoot },
  limitingNode: { as: 'node', which: belowRoot },
  organization: { as: 'organization' },
  organizationMember: { as: 'organization_member', which: inOrganization, by: 'identity_id' },
  organizationInvitation: { as: 'organization_invitation', which: inOrganization },
  organizationDomain: { as: 'sso_domain', which: inOrganization, by: 'domain' },
  connectedOrganization: { as: 'sso_connection', which: inOrganization, by: 'organization_id' },
  ssoConnection: { as: 'sso_connection', which: ({ scope }) => scope === 'identity' },
  role: { as: 'role', which: custom },
  permission: { as: 'permission', which: ({ source }) => source === 'custom' },
  apiKey: { as: 'api_key' },
  assignment: { as: 'role_assignment', which: ({ identity_id }, of) => !of || identity_id === of },
  webhook: { as: 'webhook' },
  accountWebhook: { as: 'webhook', which: ({ environment_id }) => environment_id === null, ...ofAccount },
  oauthClient: { as: 'oauth_client' },
  identityInvite: { as: 'identity_invite' },
  accountIdentityInvite: { as: 'identity_invite' },
  administratorRole: { as: 'administrator_role', which: custom, ...ofAccount },
  administratorInvite: { as: 'administrator_invite', ...ofAccount },
  member: { as: 'member', ...ofAccount },
  scimToken: { as: 'scim_token' },
  scimGroupMapping: { as: 'scim_group_mapping' },
  ssoDomain: { as: 'sso_domain', which: (row) => row.organization_id === null, by: 'domain', ...ofAccount },
  adminSsoConnection: { as: 'sso_connection', which: ({ scope }) => scope === 'admin', ...ofAccount },
};

/** Returns the ids of everything of a kind in a place. @param of what it has to belong to */
export function idsOf({ picture, spared }: World, place: Place, kind: Kind, of?: string): string[] {
  const { as, which = () => true, by, isOfAccount } = named[kind] ?? {};
  return [...picture].flatMap(([key, row]) => {
    const [what, id = ''] = key.split(' ');
    const isThere = isOfAccount || row.environment_id === place.scope.environmentId;
    if (what !== as || !isThere || !which(row, of)) return [];
    const found = by ? String(row[by]) : id;
    return spared.has(found) || spared.has(String(row.identity_id)) ? [] : [found];
  });
}

/** Returns one of them, rarely one that is elsewhere; undefined if there is none. */
export const some = (world: World, place: Place, kind: Kind, of?: string): string | undefined =>
  world.random.of(idsOf(world, world.random.below(25) === 0 ? world.random.of(world.places) : place, kind, of));

/** What an example of an operation is built from: mostly from what there is, so that one thing happens to another. */
export const givenBy = (world: World, place: Place): Given => ({
  place,
  unique: newUnique(),
  async id(kind, of) {
    const { length } = idsOf(world, place, kind, of);
    const found = world.random.below(length + 2) < length ? some(world, place, kind, of) : undefined;
    return found ?? kinds[kind].make(place, of);
  },
});
