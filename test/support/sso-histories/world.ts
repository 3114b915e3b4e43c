import { randomUUID } from 'node:crypto';
import type { EnvironmentScope } from '../../../src/platform/scope.js';
import { sealing } from '../administrators.js';
import { newAccount, type TestAccount, type TestApi } from '../api.js';
import { type Call, callsOf } from '../calls.js';
import { newRole } from '../identity-invites.js';
import { type Calls, callsWith } from '../nodes.js';
import { newPublicClient } from '../public-client.js';
import type { Random } from '../random.js';
import { giveSigningKey } from '../saml/sign-in.js';
import { newDirectory, type ScimCall } from '../scim.js';
import { newVerifiedDomain } from '../sso.js';
import { type Connection, Model, type Organization, type Person, type Place } from './model.js';
import type { Providers } from './providers.js';

type Client = Awaited<ReturnType<typeof newPublicClient>>;

/** An Environment, with what calls its APIs. */
export interface LivePlace extends Place {
  key: Calls;
  /** Calls as an Owner of its Account, below the Environment. */
  portal: Call;
  client: Client;
  role: string;
}

export interface World {
  api: TestApi;
  providers: Providers;
  random: Random;
  model: Model;
  places: LivePlace[];
  /** That of the first organization. */
  directory: ScimCall;
  domains: string[];
  addresses: string[];
}

async function newPlace(api: TestApi, account: TestAccount, scope: EnvironmentScope): Promise<LivePlace> {
  const isProduction = scope === account.productionScope;
  const below = `/applications/${account.applicationSlug}/environments/${isProduction ? 'production' : 'development'}`;
  const call = callsOf(api, account.accountSlug, await account.as('owner'));
  const key = callsWith(api, await account.apiKey('full', scope));
  return {
    ...{ scope, isProduction, key, role: await newRole(key) },
    portal: (method, path, payload) => call(method, `${below}${path}`, payload),
    client: await newPublicClient(api, scope),
  };
}

/** An Account with two Environments, three organizations in production, and a neighbour. */
export async function newWorld(api: TestApi, providers: Providers, random: Random): Promise<World> {
  const [account, neighbour] = [await newAccount(api), await newAccount(api)];
  const production = await newPlace(api, account, account.productionScope);
  const test = await newPlace(api, account, account.scope);
  const elsewhere = await newPlace(api, neighbour, neighbour.productionScope);
  const domains = ['nord', 'sued', 'both'].map((name) => `${name}-${randomUUID().slice(0, 8)}.example`);
  const addresses = ['ana', 'ben', 'cem'].flatMap((name) => domains.map((domain) => `${name}@${domain}`));
  const model = new Model();
  for (const name of ['Nord', 'Sued', 'West']) {
    const { id } = (await production.key('POST', '/organizations', { name })).json().data;
    model.organizations.push({ id, place: production, isActive: true, requiresSso: false });
  }
  const [nord, sued] = model.organizations as [Organization, Organization];
  const directory = await newDirectory(api, { ...account, scope: account.productionScope }, nord.id);
  const places = [production, test, elsewhere];
  const world = { api, providers, random, model, places, directory, domains, addresses };
  for (const [place, organization] of [
    [production, null],
    [production, nord],
    [production, sued],
    [test, null],
    [elsewhere, null],
  ] as const)
    await connect(world, place, organization);
  const [first, second, third] = domains as [string, string, string];
  await prove(world, { place: production, organization: nord }, first);
  await prove(world, { place: production, organization: sued }, second);
  await prove(world, { place: production, organization: null }, third);
  return world;
}

/** Has an organization, or the Account of an Environment, prove a domain. */
export async function prove(
  { api, model }: World,
  { place, organization }: Pick<Connection, 'place' | 'organization'>,
  domain: string,
): Promise<void> {
  const at = { db: api.database.db, now: () => api.clock.now } as never;
  await newVerifiedDomain(at, place.scope, domain, organization?.id ?? null);
  model.verified.add(`${model.owner({ place, organization })} ${domain}`);
}

/** Creates and activates a connection of an Environment, or of an organization in it. */
export async function connect(
  { api, providers, random, model }: World,
  place: LivePlace,
  organization: Organization | null,
): Promise<void> {
  const type = random.of(['saml', 'oidc'] as const);
  const provider = random.of([0, 1] as const);
  const [provisions, mapsName, hasRole] = [1, 2, 3].map(() => random.below(2) === 0) as [boolean, boolean, boolean];
  const role = hasRole ? place.role : null;
  const attribute = type === 'saml' ? 'givenName' : 'given_name';
  const made = await place.portal('POST', '/sso-connections', {
    ...{ type, name: 'Acme', organization_id: organization?.id, default_role_id: role },
    ...(type === 'saml' && { saml_allow_idp_initiated: true }),
    ...{ jit_provisioning_enabled: provisions, attribute_mapping: mapsName ? { first_name: attribute } : {} },
    ...providers.settingsOf({ type, provider }),
  });
  if (made.statusCode !== 201) throw new Error(made.body);
  const { id } = made.json().data.connection;
  const { accountId } = place.scope;
  const now = () => api.clock.now;
  if (type === 'saml') await giveSigningKey({ db: api.database.db, sealing, now }, { id, accountId });
  const activated = await place.portal('POST', `/sso-connections/${id}/activate`);
  if (activated.statusCode !== 200) throw new Error(activated.body);
  const connection: Connection = {
    ...{ id, type, place, organization, provider, provisions, role, mapsName },
    ...{ isActive: true, era: 0, isDeleted: false },
  };
  model.connections.push(connection);
}

const stateText = `
with mine as (select * from identities where account_id = any($1))
select (select json_agg(json_build_object('id', id, 'email', lower(email::text), 'isVerified', email_verified_at is not null,
    'isOnlyAsserted', email_verified_at is not null and verified_by_word, 'hasPassword', password_hash is not null, 'firstName', first_name,
    'places', array(select environment_id || case when is_active then '' else ' off' end from environment_memberships m where m.identity_id = mine.id order by 1),
    'organizations', array(select organization_id from organization_members m where m.identity_id = mine.id order by 1),
    'roles', array(select case when n.node_type = 'root' then n.environment_id else n.id end || ' ' || role_id
      from role_assignments a join nodes n on n.id = a.node_id where a.identity_id = mine.id and removed_at is null order by 1)) order by id) from mine) as people,
  (select json_agg(connection_id || ' ' || subject || ' ' || identity_id order by connection_id, subject) from sso_links where account_id = any($1)) as links`;

/** Expects that people, what they have, and their links are the model's. */
export async function expectTheModel({ api, model, places }: World): Promise<void> {
  const accounts = [...new Set(places.map(({ scope }) => scope.accountId))];
  const [found] = await api.database.db.transaction('system', (tx) =>
    tx.query<{ people: { id: string }[] | null; links: string[] | null }[]>(stateText, [accounts]),
  );
  const people = model.people.map((person) => ({
    ...{ id: person.id, email: person.email.toLowerCase(), isVerified: person.isVerified },
    ...{ isOnlyAsserted: person.isVerified && person.isOnlyAsserted, hasPassword: person.hasPassword },
    ...{ firstName: person.firstName, places: placesOf(person) },
    organizations: [...person.organizations].map(({ id }) => id).sort(),
    roles: [...person.roles].sort(),
  }));
  const links = model.links.map(({ connection, subject, person }) => `${connection.id} ${subject} ${person.id}`);
  expect({ people: inOrder(found?.people ?? []), links: (found?.links ?? []).sort() }).toEqual({
    people: inOrder(people),
    links: links.sort(),
  });
}

const placesOf = ({ places }: Person) =>
  [...places].map(([{ scope }, isActive]) => `${scope.environmentId}${isActive ? '' : ' off'}`).sort();
const inOrder = <T extends { id: string }>(people: T[]) => people.toSorted((a, b) => (a.id < b.id ? -1 : 1));
