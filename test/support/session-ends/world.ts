import { v7 as uuidv7 } from 'uuid';
import type { OAuthClient } from '../../../entities/oauth-client.js';
import type { SsoConnection } from '../../../entities/sso-connection.js';
import { createClientManagement } from '../../../src/domain/oidc/clients/management.js';
import { hours, minutes, seconds } from '../../../src/platform/clock.js';
import type { EnvironmentScope } from '../../../src/platform/scope.js';
import type { BentProvider } from '../bent-provider.js';
import type { Browser } from '../oauth/browser.js';
import { password, type TestClient, type TestEnvironment } from '../oauth/environment.js';
import { createLogoutDelivery } from '../oauth/logout-tokens.js';
import type { TestProvider } from '../oauth/provider.js';
import { newOrganization } from '../organizations.js';
import { newOther } from '../other-environment.js';
import type { Random } from '../random.js';
import type { ProviderKey } from '../saml/provider.js';
import { giveSigningKey, type SamlProvider } from '../saml/sign-in.js';
import { newOidcConnection, newVerifiedDomain } from '../sso.js';
import type { startReceiver } from '../webhooks.js';
import { type Application, type Connection, Model, type Person, type Place, type ProviderSession } from './model.js';

/** What all histories share. */
export interface Parts {
  service: TestProvider;
  saml: SamlProvider;
  /** A key that is not the SAML provider's. */
  strangersKey: ProviderKey;
  oidc: BentProvider;
  receiver: Awaited<ReturnType<typeof startReceiver>>;
}

export interface LivePlace extends Place {
  scope: EnvironmentScope;
  /** Introspects, and has no sessions. */
  server: TestClient;
}
export interface LiveApplication extends Application {
  place: LivePlace;
  client: TestClient;
}
export interface LiveConnection extends Connection {
  row: SsoConnection;
}
export interface LivePerson extends Person {
  by: LiveConnection | null;
  /** The name by which their provider knows them. */
  name: string;
  password: string;
  /** The Environments in which they are deactivated. */
  keptOutOf: Set<Place>;
  /** The applications of others to which they have consented. */
  consents: Set<Application>;
}

/** A session that a browser has at a provider. */
export interface There {
  browser: Browser;
  of: LivePerson;
  index: string | null;
}

/** A browser that can come for an answer of a provider. */
export interface Coming {
  visit: { browser: Browser; to: LiveApplication };
  of: LivePerson;
  came: ProviderSession;
  link: string;
  verifier: string;
  endsAt: number;
}

export interface World extends Parts {
  model: Model;
  random: Random;
  environment: TestEnvironment;
  places: [LivePlace, LivePlace];
  applications: LiveApplication[];
  /** Those that were deleted. */
  removed: LiveApplication[];
  connections: LiveConnection[];
  people: LivePerson[];
  browsers: Browser[];
  there: There[];
  coming: Coming[];
  delivery: ReturnType<typeof createLogoutDelivery>;
  /** Send logout tokens that were accepted once more. */
  repeats: (() => Promise<{ statusCode: number }>)[];
  now: () => number;
  /** Makes names differ. */
  count: number;
}

/** How long sessions last, and may be unused, at first. */
const lives = { sessionLife: hours(4), idleLife: minutes(30) };

/** Where responses to the SAML provider's own sign-outs go. */
export const samlResponsesAt = 'https://idp.acme.example/slo-response';
const basic = { tokenEndpointAuthMethod: 'client_secret_basic' as const };

/** Registers an application. @param like what it is, in the order of `kinds` */
export async function register(
  it: Pick<World, 'service' | 'receiver' | 'environment'>,
  place: LivePlace,
  kind: Kind,
): Promise<LiveApplication> {
  const { service, receiver, environment } = it;
  const { receives, sidAlone = false, ...fields } = kind;
  const client = await environment.newClient({ ...place.scope, ...fields });
  const path = `/logout/${client.id}`;
  const management = createClientManagement({ db: service.db, now: service.now });
  if (receives)
    await management.update(place.scope, client.id, {
      backchannelLogoutUri: receiver.url(path),
      backchannelLogoutSessionRequired: sidAlone,
    });
  return { id: client.id, place, client, receivesAt: receives ? path : null, sidAlone };
}

interface Kind extends Partial<OAuthClient> {
  receives: boolean;
  sidAlone?: boolean;
}
/** The applications of the first Environment; the second has one like the first of these. */
export const kinds: readonly [Kind, ...Kind[]] = [
  { receives: true, name: 'Web' },
  { ...basic, receives: true, sidAlone: true, name: 'Shop' },
  { ...basic, receives: false, name: 'Silent' },
  { receives: true, consentRequired: true, name: 'Partner' },
];

/** Creates two Environments of an Account, the first with two organizations whose people come by providers of theirs. */
export async function newWorld(parts: Parts, random: Random): Promise<World> {
  const { service, receiver } = parts;
  const settings = {
    mfaPolicy: 'off' as const,
    sessionTtlSeconds: lives.sessionLife / 1000,
    sessionIdleTtlSeconds: lives.idleLife / 1000,
  };
  const environment = await service.newEnvironment(settings);
  const { accountId, applicationId, environmentId } = environment;
  const other = await newOther(service, environment, { settings });
  const scopes = [
    { accountId, applicationId, environmentId },
    { accountId, applicationId: other.applicationId, environmentId: other.environmentId },
  ];
  const places = (await Promise.all(
    scopes.map(async (scope) => ({
      ...scope,
      ...lives,
      scope,
      server: await environment.newClient({ ...scope, ...basic }),
    })),
  )) as unknown as [LivePlace, LivePlace];
  const applications: LiveApplication[] = [];
  for (const kind of kinds) applications.push(await register({ service, receiver, environment }, places[0], kind));
  applications.push(await register({ service, receiver, environment }, places[1], kinds[0]));
  const connections = await connect(parts, environment);
  const people: LivePerson[] = [];
  for (const name of ['ana', 'ben']) {
    const { id, email } = await environment.newIdentity();
    await other.join(id);
    people.push({ id, email, by: null, name, ...asNew() });
  }
  for (const by of connections)
    for (const name of ['cem', 'dia'])
      people.push({ id: null, email: `${name}-${uuidv7()}@${by.type}.example`, by, name, ...asNew() });
  return {
    ...parts,
    ...{ model: new Model(), random, environment, places, applications, removed: [], connections, people },
    browsers: [1, 2, 3].map(() => service.browser()),
    ...{ there: [], coming: [], repeats: [] },
    delivery: createLogoutDelivery(service),
    now: () => service.now().getTime(),
    count: 0,
  };
}

const asNew = () => ({ password, keptOutOf: new Set<Place>(), consents: new Set<Application>() });

/** Creates the connections of two organizations, one of each type. */
async function connect({ service, saml, oidc }: Parts, environment: TestEnvironment): Promise<LiveConnection[]> {
  const ofType = {
    saml: { ...saml.fields, samlSloResponseUrl: samlResponsesAt },
    oidc: { type: 'oidc' as const },
  };
  const made: LiveConnection[] = [];
  for (const type of ['saml', 'oidc'] as const) {
    const { id: organizationId } = await newOrganization(service, environment, { name: type, slug: type });
    await newVerifiedDomain(service, environment, `${type}.example`, organizationId);
    const provider = { issuer: oidc.issuer, clientId: 'client', clientSecret: 'a secret' };
    const row = await newOidcConnection(service, environment, provider, { ...ofType[type], organizationId });
    if (type === 'saml') await giveSigningKey(service, row);
    made.push({ id: row.id, type, leavesToo: true, row });
  }
  return made;
}

/** Lets the time pass for which processes cache what a change was about. */
export const untilUncached = ({ service }: World) => service.wait(seconds(3));
