import { Type } from 'typebox';
import { ssoConnectionStatuses, ssoTypes } from '../../../entities/sso-connection.js';
import { metadataBytes } from '../../domain/sso-connections/metadata.js';
import { listQuery, paginated } from '../lists.js';
import { errors, type Operation, operation } from '../operation.js';
import { Body, Id, listOf, OneOf, single, Url } from '../schemas.js';
import { ofOne as ofOneOrganization } from './organization-views.js';
import { type ConnectionsOf, ofAccount, ofEnvironment, ofOne, ofOrganization } from './sso-connection-scopes.js';
import {
  AdminConnectionChanges,
  ConnectionChanges,
  ConnectionView,
  NewAdminConnection,
  NewConnectionAnywhere,
  NewConnectionBody,
  presentConnection,
  presentServiceProvider,
  ServiceProviderView,
  settingsIn,
} from './sso-connection-views.js';
import {
  activateConnection,
  deleteConnection,
  disableConnection,
  forgetConnectionLinks,
} from './sso-connections-states.js';
import { getTest, testConnection } from './sso-connections-test.js';

/** What the settings of one may be refused for. */
const ofSettings = ['validation.failed', 'role.not_found', 'role.cannot_grant'] as const;
const howItBegins =
  'It is not used before it is activated: enter the `service_provider` of the answer at the provider, and what the provider ' +
  'says here.';
const filters = { status: Type.Optional(OneOf(ssoConnectionStatuses)), type: Type.Optional(OneOf(ssoTypes)) };

const listAdminConnections = operation({
  level: ofAccount.level,
  tag: ofAccount.tag,
  ...ofAccount.viewing,
  id: 'listAdminSsoConnections',
  method: 'GET',
  path: '/sso/connections',
  summary: 'List the SSO connections by which administrators sign in',
  description: '`q` searches the name.',
  query: listQuery(['created_at', 'name'], filters),
  answers: { 200: listOf(ConnectionView) },
  handle: async ({ services, scope, query: { sort_by: sortBy, ...page } }) =>
    paginated(await services.ssoConnections.list(scope, { ...page, sortBy }), presentConnection),
});

const createAdminConnection = operation({
  level: ofAccount.level,
  tag: ofAccount.tag,
  ...ofAccount.changing,
  id: 'createAdminSsoConnection',
  method: 'POST',
  path: '/sso/connections',
  summary: 'Make an SSO connection by which administrators sign in',
  description: `${howItBegins} Whom it lets in then: addresses at the domains that the account has verified.`,
  body: NewAdminConnection,
  events: ['sso_connection.created'],
  answers: { 201: single(ConnectionView), ...errors('validation.failed', 'sso_connection.limit_reached') },
  async handle({ services, scope, caller, body }) {
    const wanted = { ...settingsIn(body), type: body.type, name: body.name.trim() };
    const made = await services.ssoConnections.create({ scope, organizationId: null }, caller, wanted);
    return { data: presentConnection(made) };
  },
});

const listEnvironmentConnections = operation({
  level: 'environment',
  tag: ofEnvironment.tag,
  ...ofEnvironment.viewing,
  id: 'listSsoConnections',
  method: 'GET',
  path: '/sso-connections',
  summary: 'List the SSO connections by which end users sign in',
  description: 'Those of the environment, and those of its organizations. `q` searches the name.',
  query: listQuery(['created_at', 'name'], { ...filters, organization_id: Type.Optional(Id) }),
  answers: { 200: listOf(ConnectionView) },
  handle: async ({ services, scope, query: { sort_by: sortBy, organization_id: organizationId, ...page } }) =>
    paginated(await services.ssoConnections.list(scope, { ...page, sortBy, organizationId }), presentConnection),
});

const createEnvironmentConnection = operation({
  level: 'environment',
  tag: ofEnvironment.tag,
  ...ofEnvironment.changing,
  id: 'createSsoConnection',
  method: 'POST',
  path: '/sso-connections',
  summary: 'Make an SSO connection by which end users sign in',
  description: `${howItBegins} What is made for an organization here is looked after here: its own administrators see it only.`,
  body: NewConnectionAnywhere,
  events: ['sso_connection.created'],
  answers: {
    201: single(ConnectionView),
    ...errors(
      ...ofSettings,
      'organization.not_found',
      'organization.sso_connection_exists',
      'sso_connection.limit_reached',
    ),
  },
  async handle({ services, scope, caller, body: { organization_id: organizationId = null, ...body } }) {
    const wanted = { ...settingsIn(body), type: body.type, name: body.name.trim() };
    return { data: presentConnection(await services.ssoConnections.create({ scope, organizationId }, caller, wanted)) };
  },
});

const createOrganizationConnection = operation({
  ...ofOneOrganization,
  ...ofOrganization.changing,
  id: 'createOrganizationSsoConnection',
  method: 'POST',
  path: '/organizations/:id/sso-connection',
  summary: 'Make the SSO connection of an organization',
  description: `${howItBegins} An organization has one. What is made in the Portal is looked after there.`,
  body: NewConnectionBody,
  events: ['sso_connection.created'],
  answers: {
    201: single(ConnectionView),
    ...errors(...ofSettings, 'organization.not_found', 'organization.sso_connection_exists'),
  },
  async handle({ services, scope, caller, params, body }) {
    const wanted = { ...settingsIn(body), type: body.type, name: body.name.trim() };
    const made = await services.ssoConnections.create({ scope, organizationId: params.id }, caller, wanted);
    return { data: presentConnection(made) };
  },
});

const getConnection = (of: ConnectionsOf) =>
  operation({
    ...ofOne(of),
    ...of.viewing,
    id: `get${of.prefix}SsoConnection`,
    method: 'GET',
    path: of.path,
    summary: `Read an SSO connection of the ${of.owner}`,
    answers: { 200: single(ConnectionView), ...errors(...of.missing) },
    handle: async ({ services, scope, params }) => ({
      data: presentConnection(await services.ssoConnections.get(of.at(scope, params.id))),
    }),
  });

const getServiceProvider = (of: ConnectionsOf) =>
  operation({
    ...ofOne(of),
    ...of.viewing,
    id: `get${of.prefix}SsoServiceProvider`,
    method: 'GET',
    path: `${of.path}/service-provider`,
    summary: `Read what is to be entered at the identity provider of the ${of.owner}`,
    answers: { 200: single(ServiceProviderView), ...errors(...of.missing) },
    async handle({ services, scope, params }) {
      const { serviceProvider } = await services.ssoConnections.get(of.at(scope, params.id));
      return { data: presentServiceProvider(serviceProvider) };
    },
  });

const updateConnection = (of: ConnectionsOf) =>
  operation({
    ...ofOne(of),
    ...of.changing,
    id: `update${of.prefix}SsoConnection`,
    method: 'PATCH',
    path: of.path,
    summary: `Change an SSO connection of the ${of.owner}`,
    description:
      'Everything but the type. An active one has to stay complete. Another entity id or discovery URL is another provider, which ' +
      'names other people: whom it names is found anew, by their verified domain, and it has to be given a client secret of its own.',
    body: of === ofAccount ? AdminConnectionChanges : ConnectionChanges,
    events: ['sso_connection.updated'],
    answers: {
      200: single(ConnectionView),
      ...errors(
        ...(of === ofAccount ? (['validation.failed'] as const) : ofSettings),
        ...of.missing,
        ...of.refused,
        'sso_connection.incomplete',
      ),
    },
    handle: async ({ services, scope, caller, params, body }) => ({
      data: presentConnection(await services.ssoConnections.update(of.at(scope, params.id), caller, settingsIn(body))),
    }),
  });

const importMetadata = (of: ConnectionsOf) =>
  operation({
    ...ofOne(of),
    ...of.changing,
    id: `import${of.prefix}SsoMetadata`,
    method: 'POST',
    path: `${of.path}/import-metadata`,
    summary: `Fill a SAML connection of the ${of.owner} from its provider's metadata`,
    description:
      'Entity id, URLs, signing certificates and, if it names a usable one, the format of the NameID. It is read once: import it ' +
      'again when the provider changes its key. What is fetched has to be at a public address, by https and without a redirect.',
    body: Body({
      metadata_xml: Type.Optional(
        Type.String({ minLength: 1, maxLength: metadataBytes, description: 'The document, of one provider.' }),
      ),
      metadata_url: Type.Optional(Url),
    }),
    bodyLimit: 2 * metadataBytes,
    events: ['sso_connection.updated'],
    answers: {
      200: single(ConnectionView),
      ...errors(
        'validation.failed',
        ...of.missing,
        ...of.refused,
        'sso_connection.metadata_unreadable',
        'sso_connection.incomplete',
      ),
    },
    async handle({ services, scope, caller, params, body }) {
      const source = { xml: body.metadata_xml, url: body.metadata_url };
      const imported = await services.ssoConnections.importMetadata(of.at(scope, params.id), caller, source);
      return { data: presentConnection(imported) };
    },
  });

const ofEach = [
  getConnection,
  updateConnection,
  deleteConnection,
  importMetadata,
  activateConnection,
  disableConnection,
  forgetConnectionLinks,
  getServiceProvider,
  testConnection,
  getTest,
];

/** Of an organization, on both surfaces. */
export const organizationConnectionOperations: readonly Operation[] = [
  createOrganizationConnection,
  ...ofEach.map((declare) => declare(ofOrganization)),
];
/** Of an Environment with its organizations, and of the Account for its administrators: the Portal has them. */
export const portalConnectionOperations: readonly Operation[] = [
  listAdminConnections,
  createAdminConnection,
  ...ofEach.map((declare) => declare(ofAccount)),
  listEnvironmentConnections,
  createEnvironmentConnection,
  ...ofEach.map((declare) => declare(ofEnvironment)),
];
