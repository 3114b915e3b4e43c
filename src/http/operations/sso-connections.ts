import { Type } from 'typebox';
import { ssoConnectionStatuses, ssoTypes } from '../../../entities/sso-connection.js';
import { metadataBytes } from '../../domain/sso-connections/metadata.js';
import { listQuery, paginated } from '../surfaces/lists.js';
import { errors, type Operation, operation } from '../surfaces/operation.js';
import { Body, Id, listOf, OneOf, single, Url } from '../surfaces/schemas.js';
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

/** The codes with which the settings of a connection may be refused. */
const ofSettings = ['validation.failed', 'role.not_found', 'role.cannot_grant'] as const;
const howItBegins =
  'The connection is not used until it is activated: enter the `service_provider` of the response at the provider, and ' +
  "the provider's values here.";
const filters = { status: Type.Optional(OneOf(ssoConnectionStatuses)), type: Type.Optional(OneOf(ssoTypes)) };

const listAdminConnections = operation({
  level: ofAccount.level,
  tag: ofAccount.tag,
  ...ofAccount.viewing,
  id: 'listAdminSsoConnections',
  method: 'GET',
  path: '/sso/connections',
  summary: 'List the SSO connections of administrators',
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
  summary: 'Create an SSO connection for administrators',
  description: `${howItBegins} Once active, it accepts email addresses at the verified domains of the account.`,
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
  summary: 'List the SSO connections of end users',
  description: 'Connections of the environment, and of its organizations. `q` searches the name.',
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
  summary: 'Create an SSO connection for end users',
  description:
    `${howItBegins} A connection that is created for an organization here is managed here: the organization's own ` +
    'administrators can only view it.',
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
  summary: 'Create the SSO connection of an organization',
  description: `${howItBegins} An organization has at most one. A connection that is created in the Portal is managed there.`,
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
    summary: `Get an SSO connection of the ${of.owner}`,
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
    summary: `Get the service provider values for the identity provider of the ${of.owner}`,
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
    summary: `Update an SSO connection of the ${of.owner}`,
    description:
      'Everything but the type can be changed. An active connection must stay complete. Another entity ID or discovery URL ' +
      'means another provider, which identifies people differently: they are matched again, by their verified domain, and ' +
      'the connection needs a new client secret.',
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
    summary: `Import the provider's metadata into a SAML connection of the ${of.owner}`,
    description:
      'Sets the entity ID, URLs, signing certificates and, if the metadata names a usable one, the NameID format. The ' +
      'metadata is read once: import it again when the provider changes its key. A URL must be at a public address, with ' +
      'https and without redirects.',
    body: Body({
      metadata_xml: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: metadataBytes,
          description: 'The metadata document of a single provider.',
        }),
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

/** For organizations, on both surfaces. */
export const organizationConnectionOperations: readonly Operation[] = [
  createOrganizationConnection,
  ...ofEach.map((declare) => declare(ofOrganization)),
];
/** For the Account's administrators, and for an Environment with its organizations; only in the Portal. */
export const portalConnectionOperations: readonly Operation[] = [
  listAdminConnections,
  createAdminConnection,
  ...ofEach.map((declare) => declare(ofAccount)),
  listEnvironmentConnections,
  createEnvironmentConnection,
  ...ofEach.map((declare) => declare(ofEnvironment)),
];
