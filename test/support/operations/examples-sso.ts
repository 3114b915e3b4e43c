import { providerMetadata } from '../sso-connections.js';
import type { Example } from './example.js';
import type { Kind } from './kinds.js';

const body = (unique: string) => ({
  type: 'oidc',
  name: `Provider ${unique}`,
  oidc_discovery_url: 'https://idp.example',
  oidc_client_id: unique,
  oidc_client_secret: 'secret',
});

/** Returns the examples for connections of an Environment, of the Account, or of an organization. */
function of(prefix: string, kinds: Record<'complete' | 'active' | 'saml' | 'test', Kind>): Record<string, Example> {
  const one =
    (kind: Kind, more: (unique: string) => object = () => ({})): Example =>
    async ({ id, unique }) => ({ path: { id: await id(kind) }, ...more(unique) });
  return {
    [`get${prefix}SsoConnection`]: one(kinds.complete),
    [`update${prefix}SsoConnection`]: one(kinds.complete, (unique) => ({ body: { name: unique } })),
    [`delete${prefix}SsoConnection`]: one(kinds.complete),
    [`activate${prefix}SsoConnection`]: one(kinds.complete),
    [`disable${prefix}SsoConnection`]: one(kinds.active),
    [`forget${prefix}SsoConnectionLinks`]: one(kinds.complete),
    [`import${prefix}SsoMetadata`]: async ({ id, unique }) => ({
      path: { id: await id(kinds.saml) },
      body: { metadata_xml: await providerMetadata({ entityId: `https://idp.example/${unique}` }) },
    }),
    [`get${prefix}SsoServiceProvider`]: one(kinds.complete),
    [`test${prefix}SsoConnection`]: one(kinds.complete),
    [`get${prefix}SsoTest`]: async ({ id }) => {
      const connection = await id(kinds.complete);
      return { path: { id: connection, test_id: await id(kinds.test, connection) } };
    },
  };
}

export const ssoExamples: Record<string, Example> = {
  createAdminSsoConnection: ({ unique }) => ({ body: body(unique) }),
  listSsoConnections: async ({ id }) => ({ query: { organization_id: await id('connectedOrganization') } }),
  createSsoConnection: async ({ id, unique }) => ({
    body: { ...body(unique), organization_id: await id('organization'), default_role_id: await id('role') },
  }),
  createOrganizationSsoConnection: async ({ id, unique }) => ({
    path: { id: await id('organization') },
    body: { ...body(unique), default_role_id: await id('role') },
  }),
  ...of('', {
    complete: 'ssoConnection',
    active: 'activeSsoConnection',
    saml: 'samlConnection',
    test: 'ssoTest',
  }),
  ...of('Admin', {
    complete: 'adminSsoConnection',
    active: 'activeAdminSsoConnection',
    saml: 'adminSamlConnection',
    test: 'adminSsoTest',
  }),
  ...of('Organization', {
    complete: 'connectedOrganization',
    active: 'activelyConnectedOrganization',
    saml: 'samlConnectedOrganization',
    test: 'organizationSsoTest',
  }),
};
for (const [prefix, kind] of [
  ['', 'ssoConnection'],
  ['Organization', 'connectedOrganization'],
] as const) {
  ssoExamples[`update${prefix}SsoConnection`] = async ({ id, unique }) => ({
    path: { id: await id(kind) },
    body: { name: unique, default_role_id: await id('role') },
  });
}
