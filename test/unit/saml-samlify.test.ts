import { randomUUID } from 'node:crypto';
import { inflateRawSync } from 'node:zlib';
import samlify from 'samlify';
import type { SsoConnection } from '../../entities/sso-connection.js';
import { createSamlProtocol } from '../../src/domain/sso-protocols/saml/protocol.js';
import { parseMetadata } from '../../src/domain/sso-protocols/saml/provider-metadata.js';
import { asOurs, newProviderKey, type ProviderKey } from '../support/saml/provider.js';

samlify.setSchemaValidator({ validate: async () => 'it has no schemas here' });

const baseUrl = 'https://id.gatehouse.example';
let ours: ProviderKey;
let theirs: ProviderKey;
let provider: ReturnType<typeof samlify.IdentityProvider>;
beforeAll(async () => {
  [ours, theirs] = await Promise.all([newProviderKey(), newProviderKey()]);
  provider = samlify.IdentityProvider({
    entityID: 'https://idp.acme.example/metadata',
    signingCert: theirs.certificate,
    privateKey: theirs.privateKey,
    wantAuthnRequestsSigned: true,
    wantLogoutRequestSigned: true,
    requestSignatureAlgorithm: 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
    nameIDFormat: ['urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress'],
    singleSignOnService: [
      { Binding: 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect', Location: 'https://idp.acme.example/sso' },
    ],
    singleLogoutService: [
      { Binding: 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect', Location: 'https://idp.acme.example/slo' },
    ],
    loginResponseTemplate: { context: samlify.SamlLib.defaultLoginResponseTemplate.context, attributes: [] },
  });
});

test('an independent provider reads our metadata and request, and we its metadata and answer', async () => {
  const protocol = createSamlProtocol({ baseUrl, keyOf: async () => asOurs(ours), now: () => new Date() });
  const settings = parseMetadata(provider.getMetadata(), new Date());
  const connection = {
    id: randomUUID(),
    ...settings,
    samlWantAssertionsSigned: true,
    samlAllowIdpInitiated: false,
    forceAuthn: true,
    attributeMapping: {},
  } as unknown as SsoConnection;
  expect(settings).toMatchObject({
    samlEntityId: 'https://idp.acme.example/metadata',
    samlSsoUrl: 'https://idp.acme.example/sso',
    samlSloUrl: 'https://idp.acme.example/slo',
  });
  const us = samlify.ServiceProvider({ metadata: await protocol.metadataOf(connection) });

  const requestId = randomUUID();
  const { url } = await protocol.begin(connection, { requestId, state: 'the-state' });
  const sent = new URL(url);
  expect(sent.origin + sent.pathname).toBe('https://idp.acme.example/sso');
  expect(sent.searchParams.get('RelayState')).toBe('the-state');
  const signed = sent.search.slice(1, sent.search.indexOf('&Signature='));
  const query = Object.fromEntries(sent.searchParams);
  const { extract } = await provider.parseLoginRequest(us, 'redirect', { query, octetString: signed });
  expect(extract).toMatchObject({
    issuer: `${baseUrl}/sso/saml/${connection.id}/metadata`,
    request: {
      id: `_${requestId}`,
      destination: 'https://idp.acme.example/sso',
      assertionConsumerServiceUrl: `${baseUrl}/sso/saml/${connection.id}/acs`,
    },
  });

  const message = inflateRawSync(Buffer.from(query.SAMLRequest ?? '', 'base64')).toString();
  expect(message).toContain('ForceAuthn="true"');
  const acsUrl = us.entityMeta.getAssertionConsumerService('post') as string;
  const until = new Date(Date.now() + 300_000).toISOString();
  const now = new Date().toISOString();
  const statement = `<saml:AuthnStatement AuthnInstant="${now}"><saml:AuthnContext><saml:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:Password</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>`;
  const { context: samlResponse } = await provider.createLoginResponse(
    us,
    { extract },
    'post',
    { email: 'ana@acme.example' },
    (template: string) => ({
      id: '_answer',
      context: samlify.SamlLib.replaceTagsByValue(template.replace('{AuthnStatement}', statement), {
        ID: '_answer',
        AssertionID: '_assertion',
        Destination: acsUrl,
        Audience: us.entityMeta.getEntityID(),
        SubjectRecipient: acsUrl,
        AssertionConsumerServiceURL: acsUrl,
        NameIDFormat: 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress',
        NameID: 'ana@acme.example',
        Issuer: provider.entityMeta.getEntityID(),
        IssueInstant: now,
        ConditionsNotBefore: now,
        ConditionsNotOnOrAfter: until,
        SubjectConfirmationDataNotOnOrAfter: until,
        StatusCode: 'urn:oasis:names:tc:SAML:2.0:status:Success',
        InResponseTo: `_${requestId}`,
        AttributeStatement: '',
      }),
    }),
  );
  expect(await protocol.verify(connection, { samlResponse, expects: { requestId } })).toMatchObject({
    issuer: 'https://idp.acme.example/metadata',
    subject: 'ana@acme.example',
    email: 'ana@acme.example',
    amr: ['pwd'],
  });
});

test('an independent provider accepts our LogoutRequest, and we its answer', async () => {
  const protocol = createSamlProtocol({ baseUrl, keyOf: async () => asOurs(ours), now: () => new Date() });
  const connection = {
    id: randomUUID(),
    ...parseMetadata(provider.getMetadata(), new Date()),
    samlWantAssertionsSigned: true,
  } as unknown as SsoConnection;
  const metadata = await protocol.metadataOf(connection);
  const us = samlify.ServiceProvider({ metadata, wantLogoutResponseSigned: true });
  const nameId = {
    value: 'ana@acme.example',
    format: 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress',
    nameQualifier: null,
    spNameQualifier: null,
  };
  const logoutId = randomUUID();
  const handle = { protocol: 'saml', nameId, sessionIndex: '_session' } as const;
  const sent = new URL((await protocol.leave(connection, { logoutId, state: 'the-state', handle })) ?? '');
  const query = Object.fromEntries(sent.searchParams);
  const signed = sent.search.slice(1, sent.search.indexOf('&Signature='));
  const asked = await provider.parseLogoutRequest(us, 'redirect', { query, octetString: signed });
  expect(asked.extract).toMatchObject({
    nameID: 'ana@acme.example',
    sessionIndex: '_session',
    request: { id: `_${logoutId}`, destination: 'https://idp.acme.example/slo' },
  });
  const { context } = provider.createLogoutResponse(us, { extract: asked.extract }, 'redirect', 'the-state');
  await protocol.verifyLeft(connection, logoutId, { query: new URL(String(context)).search.slice(1) });
});
