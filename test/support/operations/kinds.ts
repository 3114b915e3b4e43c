import { randomUUID } from 'node:crypto';
import { decodeJwt } from 'jose';
import { v7 as uuidv7 } from 'uuid';
import { Application } from '../../../entities/application.js';
import { Email } from '../../../entities/email.js';
import { provisionAccount } from '../../../src/domain/accounts/provisioning.js';
import { newIdentityCaller } from '../identity-caller.js';
import { totpCode } from '../mfa.js';
import { adminConnection, environmentConnection, organizationConnection } from './kinds-sso.js';
import type { Place } from './place.js';

/** What it belongs to: an Environment, the whole Account, or the caller. */
type Level = 'environment' | 'account' | 'own';

interface Maker {
  level: Level;
  /** The kind of `of`, if it can be read only together with that. Comes after it. */
  belongsTo?: string;
  /** Creates one in a place; `of` is the id of what it belongs to, if anything. */
  make(place: Place, of?: string): Promise<string>;
  /** Returns an id of its format that does not exist; a UUID if absent. */
  unknown?(): string;
}

const unique = () => randomUUID().slice(0, 13);
const idFrom = async (made: Promise<{ id: string }>) => (await made).id;
const anEmail = () => `eva.${randomUUID()}@example.com`;
/** A domain names its claim. */
const aDomain = () => `d-${randomUUID()}.example`;
const testOf = async (made: Promise<object>) => ((await made) as { test_id: string }).test_id;
const claimed = async (made: Promise<object>) => ((await made) as { domain: string }).domain;
const ofEnvironment = (make: Maker['make']): Maker => ({ level: 'environment', make });
const ofAccount = (make: Maker['make']): Maker => ({ level: 'account', make });
const ofOneself = (make: Maker['make']): Maker => ({ level: 'own', make });

/** Calls an Account-level operation of the Portal as the owner. */
async function inAccount({ api, account, headers }: Place, url: string, payload: object) {
  const at = `/portal/v1/accounts/${account.accountSlug}${url}`;
  const made = await api.app.inject({ method: 'POST', url: at, headers: headers.owner, payload });
  if (made.statusCode >= 300) throw new Error(`POST ${at}: ${made.statusCode} ${made.body}`);
  return made.json().data as { id: string; slug: string };
}

const newIdentity = (place: Place) => idFrom(place.make('/identities', { email: anEmail(), first_name: 'Eva' }));
const newNode = (place: Place) =>
  idFrom(place.make('/nodes', { node_type: 'unit', name: `Node ${unique()}`, parent_node_id: null }));
const newOrganization = (place: Place) => idFrom(place.make('/organizations', { name: `Organization ${unique()}` }));
const newRole = (place: Place) =>
  idFrom(place.make('/roles', { name: `Role ${unique()}`, permission_keys: ['hierarchy.view'] }));
const newAdministratorRole = (place: Place) =>
  inAccount(place, '/administrator-roles', { name: `Role ${unique()}`, capabilities: ['members.view'] });
/** Creates another Account of the place's owner, and deletes its first Application. */
const newEmptyAccount = ({ api: { database, clock }, account: { userId } }: Place): Promise<string> =>
  database.db.transaction('system', async (tx) => {
    const names = { accountName: `Empty ${unique()}`, applicationName: 'App' };
    const { account, application } = await provisionAccount(tx, { userId, ...names, now: clock.now });
    await tx.delete(Application, { id: application.id });
    return account.id;
  });
const clientOf = (place: Place) =>
  place.make(
    '/oauth-clients',
    { name: 'Web', client_type: 'confidential', redirect_uris: ['https://app.example.com/callback'] },
    'owner',
  );
const receiver = () => ({ url: `https://receiver.example/${unique()}`, event_types: ['permission.deleted'] });
const newWebhook = (place: Place) => idFrom(place.make('/webhooks', receiver()));
const newAccountWebhook = (place: Place) => idFrom(inAccount(place, '/webhooks', receiver()));
const sidOf = ({ authorization = '' }: Record<string, string>) => String(decodeJwt(authorization.slice(7)).sid);

/** Returns the audit row of the creation of something: its own id, or the request's. */
const auditRowOf = async ({ rows }: Place, resourceId: string, column: 'id' | 'correlation_id' = 'id') => {
  const text = `select ${column} as id from events where resource_id = $1 order by created_at limit 1`;
  return (await rows<{ id: string }>(text, [resourceId]))[0]?.id as string;
};

/** Everything that an id can name. Tests create objects of their own place and of neighbours here. */
export const kinds = {
  identity: ofEnvironment(newIdentity),
  /** Of the signed-in end user, or of the Identity `of`. */
  session: ofEnvironment(async (place, of) => {
    if (!of) return sidOf((await newIdentityCaller(place.api, place)).headers);
    const id = uuidv7();
    const { accountId, environmentId } = place.scope;
    await place.rows(
      `insert into sessions (id, account_id, environment_id, identity_id, browser_hash, authenticated_at, amr, acr,
         created_at, expires_at)
       values ($1, $2, $3, $4, sha256($5), now(), '{pwd}', '1', now(), now() + interval '1 day')`,
      [id, accountId, environmentId, of, Buffer.from(id)],
    );
    return id;
  }),
  /** An OAuth client to which the Identity `of` has consented. */
  allowedClient: ofEnvironment(async (place, of) => {
    const id = await idFrom(clientOf(place));
    const { accountId, environmentId } = place.scope;
    await place.rows(
      `insert into consents (identity_id, oauth_client_id, account_id, environment_id, scope, created_at, updated_at)
       values ($1, $2, $3, $4, '{openid}', now(), now())`,
      [of ?? (await newIdentity(place)), id, accountId, environmentId],
    );
    return id;
  }),
  factor: ofOneself((place) => enrolledFactor(place, place.identity.headers)),
  ownSession: ofOneself(async (place) => sidOf(place.identity.headers)),
  userSession: ofAccount(async ({ account, rows }) => {
    const [session] = await rows<{ id: string }>('select id from user_sessions where user_id = $1', [account.userId]);
    return session?.id as string;
  }),
  /** Of the account's owner, whose sessions have been proved with it. */
  userFactor: ofAccount(async ({ account, rows }) => {
    const [factor] = await rows<{ id: string }>(
      `with strengthened as (update user_sessions set acr = 'urn:gatehouse:aal2' where user_id = $1)
       insert into user_mfa_factors (id, user_id, type, label, credential_id, public_key, enrolled_at)
       values (gen_random_uuid(), $1, 'webauthn', 'Key', gen_random_uuid()::text::bytea, '', now()) returning id`,
      [account.userId],
    );
    return factor?.id as string;
  }),
  node: ofEnvironment(newNode),
  /** The root of the tree. */
  rootNode: ofEnvironment(async ({ rows, scope }) => {
    const text = 'select id from nodes where environment_id = $1 and parent_node_id is null';
    return (await rows<{ id: string }>(text, [scope.environmentId]))[0]?.id as string;
  }),
  identityInvite: ofEnvironment((place) => idFrom(place.make('/identity-invites', { email: anEmail() }))),
  /** In any Environment of the Account, as its directory shows it. */
  directoryIdentity: ofAccount(newIdentity),
  accountIdentityInvite: ofAccount((place) => idFrom(inAccount(place, '/identity-invites', { email: anEmail() }))),
  organization: ofEnvironment(newOrganization),
  /** The Identity of a member. */
  organizationMember: {
    belongsTo: 'organization',
    ...ofEnvironment(async (place, of) => {
      const organizationId = of ?? (await newOrganization(place));
      const identityId = await newIdentity(place);
      await place.make(`/organizations/${organizationId}/members`, { identity_id: identityId });
      return identityId;
    }),
  },
  organizationInvitation: {
    belongsTo: 'organization',
    ...ofEnvironment(async (place, of) => {
      const organization = of ?? (await newOrganization(place));
      return idFrom(place.make(`/organizations/${organization}/invitations`, { email: anEmail() }));
    }),
  },
  organizationDomain: {
    belongsTo: 'organization',
    ...ofEnvironment(async (place, of) => {
      const organization = of ?? (await newOrganization(place));
      return claimed(place.make(`/organizations/${organization}/domains`, { domain: aDomain() }));
    }),
    unknown: () => aDomain(),
  },
  /** An organization with its own SSO connection. */
  connectedOrganization: ofEnvironment(async (place) =>
    organizationConnection(place, await newOrganization(place), 'complete'),
  ),
  activelyConnectedOrganization: ofEnvironment(async (place) =>
    organizationConnection(place, await newOrganization(place), 'active'),
  ),
  samlConnectedOrganization: ofEnvironment(async (place) =>
    organizationConnection(place, await newOrganization(place), 'saml'),
  ),
  organizationSsoTest: {
    level: 'environment',
    belongsTo: 'connectedOrganization',
    make: async (place, of?: string) => {
      const id = of ?? (await organizationConnection(place, await newOrganization(place), 'complete'));
      return testOf(place.make(`/organizations/${id}/sso-connection/test`, {}));
    },
  },
  ssoConnection: ofEnvironment(environmentConnection('complete')),
  ssoTest: {
    level: 'environment',
    belongsTo: 'ssoConnection',
    make: async (place, of?: string) => {
      const id = of ?? (await environmentConnection('complete')(place));
      return testOf(place.make(`/sso-connections/${id}/test`, {}, 'owner'));
    },
  },
  activeSsoConnection: ofEnvironment(environmentConnection('active')),
  samlConnection: ofEnvironment(environmentConnection('saml')),
  role: ofEnvironment(newRole),
  permission: ofEnvironment((place) =>
    idFrom(place.make('/permissions', { key: `thing.p${unique()}`, name: 'A permission' })),
  ),
  apiKey: ofEnvironment((place) => idFrom(place.make('/api-keys', { name: 'Another', access_mode: 'full' }))),
  assignment: ofEnvironment(async (place, of) => {
    const identityId = of ?? (await newIdentity(place));
    const wanted = { role_id: await newRole(place), node_id: await newNode(place) };
    return (await place.make(`/identities/${identityId}/role-assignments`, wanted)).assignment_id as string;
  }),
  auditRow: ofEnvironment(async (place) => auditRowOf(place, await newNode(place))),
  request: ofEnvironment(async (place) => auditRowOf(place, await newNode(place), 'correlation_id')),
  accountRequest: ofAccount(async (place) => auditRowOf(place, await newIdentity(place), 'correlation_id')),
  accountAuditRow: ofAccount(async (place) => auditRowOf(place, await newIdentity(place))),
  webhook: ofEnvironment(newWebhook),
  webhookDelivery: {
    level: 'environment',
    belongsTo: 'webhook',
    make: async (place, of?: string) => idFrom(place.make(`/webhooks/${of ?? (await newWebhook(place))}/test`, {})),
  },
  accountWebhook: ofAccount(newAccountWebhook),
  accountWebhookDelivery: {
    level: 'account',
    belongsTo: 'accountWebhook',
    make: async (place, of?: string) =>
      idFrom(inAccount(place, `/webhooks/${of ?? (await newAccountWebhook(place))}/test`, {})),
  },
  oauthClient: ofEnvironment((place) => idFrom(clientOf(place))),
  clientId: {
    level: 'environment',
    make: async (place) => (await clientOf(place)).client_id as string,
    unknown: () => randomUUID(),
  },
  application: ofAccount((place) => idFrom(inAccount(place, '/applications', { name: `Shop ${unique()}` }))),
  /** An Application that no other operation touches. */
  applicationSlug: {
    level: 'account',
    make: async (place) => (await inAccount(place, '/applications', { name: `Fresh ${unique()}` })).slug,
    unknown: () => `unknown-${unique()}`,
  },
  /** Another, empty Account of the owner. */
  emptyAccount: ofAccount(newEmptyAccount),
  /** Like `emptyAccount`, with a second Owner. */
  sharedAccount: ofAccount(async (place) => {
    const accountId = await newEmptyAccount(place);
    await place.rows(
      `with partner as (
         insert into users (id, email, first_name, last_name, created_at, updated_at)
         values (gen_random_uuid(), $2, 'Ivo', 'Kern', now(), now()) returning id),
       member as (
         insert into memberships (id, account_id, user_id, created_at)
         select gen_random_uuid(), $1, id, now() from partner returning id)
       insert into membership_roles (membership_id, role_id, account_id)
       select member.id, r.id, $1 from member, administrator_roles r where r.account_id = $1 and r.system_key = 'owner'`,
      [accountId, anEmail()],
    );
    return accountId;
  }),
  /** Any node of the Account. */
  limitingNode: ofAccount(newNode),
  environment: ofAccount(async ({ scope }) => scope.environmentId),
  administratorRole: ofAccount((place) => idFrom(newAdministratorRole(place))),
  ssoDomain: {
    level: 'account',
    make: async (place) => claimed(inAccount(place, '/sso/domains', { domain: aDomain() })),
    unknown: () => aDomain(),
  },
  scimToken: ofAccount((place) =>
    idFrom(inAccount(place, '/scim/tokens', { name: `Token ${unique()}`, environment_id: place.scope.environmentId })),
  ),
  scimGroupMapping: ofAccount(async (place) =>
    idFrom(
      inAccount(place, '/scim/group-mappings', {
        environment_id: place.scope.environmentId,
        scim_group: `Group ${unique()}`,
        role_id: await newRole(place),
      }),
    ),
  ),
  adminSsoConnection: ofAccount((place) => adminConnection((url, body) => inAccount(place, url, body), 'complete')),
  adminSsoTest: {
    level: 'account',
    belongsTo: 'adminSsoConnection',
    make: async (place, of?: string) => {
      const make = (url: string, body: object) => inAccount(place, url, body);
      return testOf(make(`/sso/connections/${of ?? (await adminConnection(make, 'complete'))}/test`, {}));
    },
  },
  activeAdminSsoConnection: ofAccount((place) => adminConnection((url, body) => inAccount(place, url, body), 'active')),
  adminSamlConnection: ofAccount((place) => adminConnection((url, body) => inAccount(place, url, body), 'saml')),
  administratorInvite: ofAccount(async (place) => {
    const role = await newAdministratorRole(place);
    const person = { email: anEmail(), first_name: 'Ivo', last_name: 'Kern', role_id: role.id };
    return idFrom(inAccount(place, '/administrator-invites', person));
  }),
  failedMail: ofAccount(async ({ api, scope }) => {
    const id = uuidv7();
    await api.database.db.transaction('system', (tx) =>
      tx.insert(Email, {
        id,
        accountId: scope.accountId,
        environmentId: null,
        template: 'administrator-invite',
        locale: 'en',
        subjectId: uuidv7(),
        cause: `test/${id}`,
        status: 'failed',
        failure: 'refused',
        createdAt: api.clock.now,
        endedAt: api.clock.now,
      }),
    );
    return id;
  }),
  member: ofAccount(async (place) => {
    const [id, userId] = [uuidv7(), uuidv7()];
    const role = await newAdministratorRole(place);
    await place.rows(
      `with person as (
         insert into users (id, email, first_name, last_name, email_verified_at, created_at, updated_at)
         values ($2, $3, 'Mia', 'Berg', now(), now(), now()) returning id),
       member as (
         insert into memberships (id, account_id, user_id, created_at) select $1, $4, id, now() from person returning id)
       insert into membership_roles (membership_id, role_id, account_id) select id, $5, $4 from member`,
      [id, userId, anEmail(), place.scope.accountId, role.id],
    );
    return id;
  }),
} satisfies Record<string, Maker>;

export type Kind = keyof typeof kinds;
export const ownerOf = (kind: Kind): Kind | undefined => (kinds[kind] as Maker).belongsTo as Kind | undefined;
export const levelOf = (kind: Kind): Level => kinds[kind].level;
export const unknownOf = (kind: Kind): string => (kinds[kind] as Maker).unknown?.() ?? uuidv7();

async function enrolledFactor({ api }: Place, headers: Record<string, string>): Promise<string> {
  const post = async (path: string, payload: object) =>
    (await api.app.inject({ method: 'POST', url: `/v1/identity/auth/mfa/totp/${path}`, headers, payload })).json().data;
  const { enrollment_token, secret } = await post('enroll', {});
  const added = await post('confirm', { enrollment_token, code: totpCode(secret, api.clock.now) });
  return added.factor.id as string;
}
