import 'reflect-metadata';
import { randomUUID, webcrypto, X509Certificate } from 'node:crypto';
import { X509CertificateGenerator } from '@peculiar/x509';
import type { SsoConnection } from '../../entities/sso-connection.js';
import { createSamlProtocol } from '../../src/domain/sso-protocols/saml/protocol.js';
import { MetadataRefused, parseMetadata } from '../../src/domain/sso-protocols/saml/provider-metadata.js';
import { asOurs, newProviderKey, type ProviderKey } from '../support/saml/provider.js';

const now = new Date('2026-11-22T10:00:00.000Z');
const bindings = 'urn:oasis:names:tc:SAML:2.0:bindings';
let key: ProviderKey;
let next: ProviderKey;
beforeAll(async () => {
  [key, next] = await Promise.all([newProviderKey(), newProviderKey()]);
});

const bare = (certificate: string) => certificate.replace(/-----[A-Z ]+-----|\s/g, '');
const keyDescriptor = (certificate: string, use = ' use="signing"') =>
  `<md:KeyDescriptor${use}><ds:KeyInfo xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:X509Data><ds:X509Certificate>\n${certificate.replace(/.{64}/g, '$&\n')}\n</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>`;
const sso = (binding: string, location: string, service = 'SingleSignOnService') =>
  `<md:${service} Binding="${bindings}:${binding}" Location="${location}"/>`;
const post = sso('HTTP-POST', 'https://idp.example/post');
const redirect = sso('HTTP-Redirect', 'https://idp.example/redirect?a=1&amp;b=2');

function entity(content: string, { attributes = '', id = 'https://idp.example', role = '' } = {}): string {
  return `<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" entityID="${id}"${attributes}><md:IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol"${role}>${content}</md:IDPSSODescriptor></md:EntityDescriptor>`;
}
const all = (...content: string[]) =>
  `<md:EntitiesDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata">${content.join('')}</md:EntitiesDescriptor>`;
const serviceProvider =
  '<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" entityID="https://sp.example"><md:SPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol"/></md:EntityDescriptor>';
const plain = () => entity(keyDescriptor(bare(key.certificate)) + post + redirect);
const refused = (xml: string, message: RegExp) => {
  expect(() => parseMetadata(xml, now)).toThrow(MetadataRefused);
  expect(() => parseMetadata(xml, now)).toThrow(message);
};

describe('the metadata of a provider', () => {
  test('fills the fields of a connection, by the redirect binding', () => {
    const formats = ['transient', 'persistent'].map(
      (name) => `<md:NameIDFormat>urn:oasis:names:tc:SAML:2.0:nameid-format:${name}</md:NameIDFormat>`,
    );
    const logout = sso('HTTP-Redirect', 'https://idp.example/logout', 'SingleLogoutService');
    const content = keyDescriptor(bare(key.certificate)) + logout + formats.join('') + post + redirect;
    expect(parseMetadata(`\uFEFF<?xml version="1.0"?>\n${entity(content)}\n`, now)).toEqual({
      samlEntityId: 'https://idp.example',
      samlSsoUrl: 'https://idp.example/redirect?a=1&b=2',
      samlSloUrl: 'https://idp.example/logout',
      samlSloResponseUrl: null,
      samlSigningCert: new X509Certificate(key.certificate).toString().trim(),
      samlNameIdFormat: 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
    });
  });

  test('says where responses to logout requests go, for the redirect binding', () => {
    const logout = (binding: string, responses: string) =>
      `<md:SingleLogoutService Binding="${bindings}:${binding}" Location="https://idp.example/${binding}" ResponseLocation="${responses}"/>`;
    const others = logout('HTTP-POST', 'https://idp.example/posted');
    const read = (...services: string[]) =>
      parseMetadata(entity(keyDescriptor(bare(key.certificate)) + redirect + services.join('')), now);
    expect(read(others, logout('HTTP-Redirect', ' https://idp.example/back?a=1&amp;b=2 '))).toMatchObject({
      samlSloUrl: 'https://idp.example/HTTP-Redirect',
      samlSloResponseUrl: 'https://idp.example/back?a=1&b=2',
    });
    expect(read(others, logout('HTTP-Redirect', ''))).toMatchObject({ samlSloResponseUrl: null });
    expect(read(others)).toMatchObject({ samlSloUrl: null, samlSloResponseUrl: null });
    for (const wrong of ['back', `https://idp.example/${'x'.repeat(2048)}`])
      expect(() => read(logout('HTTP-Redirect', wrong))).toThrow('The ResponseLocation of its SingleLogoutService');
  });

  test('may have several certificates, of which those for signing count, once each', () => {
    const [one, two] = [bare(key.certificate), bare(next.certificate)];
    const keys =
      keyDescriptor(one) + keyDescriptor(two, '') + keyDescriptor(one) + keyDescriptor('x', ' use="encryption"');
    const { samlSigningCert } = parseMetadata(entity(keys + redirect), now);
    expect(samlSigningCert.match(/BEGIN CERTIFICATE/g)).toHaveLength(2);
  });

  test('may be among others, if its provider is the only one', () => {
    expect(parseMetadata(all(serviceProvider, all(plain())), now).samlEntityId).toBe('https://idp.example');
    refused(all(plain(), plain()), /several/);
    refused(all(serviceProvider), /no identity provider/);
  });

  test('is refused after its validUntil, at whatever level', () => {
    const attributes = ' validUntil="2026-11-22T09:59:59Z"';
    const content = keyDescriptor(bare(key.certificate)) + redirect;
    refused(entity(content, { attributes }), /valid until/);
    refused(entity(content, { role: attributes }), /valid until/);
    refused(all(entity(content, { attributes })), /valid until/);
    refused(entity(content, { attributes: ' validUntil="soon"' }), /not a valid time/);
    expect(parseMetadata(entity(content, { attributes: ' validUntil="2026-11-23T00:00:00Z"' }), now)).toBeDefined();
  });

  test('is refused without what a connection needs', () => {
    const certified = keyDescriptor(bare(key.certificate));
    refused(entity(certified + post), /HTTP-Redirect/);
    refused(entity(redirect), /no signing certificate/);
    refused(entity(keyDescriptor('AAAA') + redirect), /cannot be read/);
    refused(entity(certified + sso('HTTP-Redirect', 'nowhere')), /not a URL/);
    refused(entity(certified + redirect, { id: '' }), /entityID/);
    refused(entity(certified + redirect).replace('SAML:2.0:protocol', 'SAML:1.1:protocol'), /no identity provider/);
  });

  test('is refused if it is hostile, or no metadata at all', () => {
    refused(`<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>${plain()}`, /DOCTYPE/);
    refused('<html><body>Sign in</body></html>', /no identity provider/);
    refused('', /well-formed/);
    refused('{}', /well-formed/);
    refused(`<a>${'x'.repeat(1_100_000)}</a>`, /longer/);
    refused(all('<md:X/>'.repeat(11_000)), /too many elements; send the metadata of one identity provider$/);
    refused(`${'<a>'.repeat(100)}${'</a>'.repeat(100)}`, /deeply/);
  });
});

describe('our metadata for a provider', () => {
  const connection = { id: randomUUID(), samlWantAssertionsSigned: true, samlNameIdFormat: null } as SsoConnection;

  test('names where to answer, who we are and what signs our messages; on request, how to encrypt', async () => {
    const protocol = createSamlProtocol({
      baseUrl: 'https://id.example',
      keyOf: async () => asOurs(key),
      now: () => now,
    });
    const xml = await protocol.metadataOf(connection, { encryption: true });
    expect(xml).toContain(`entityID="https://id.example/sso/saml/${connection.id}/metadata"`);
    expect(xml).toContain(`${bindings}:HTTP-POST" Location="https://id.example/sso/saml/${connection.id}/acs"`);
    expect(xml).toContain(`${bindings}:HTTP-Redirect" Location="https://id.example/sso/saml/${connection.id}/slo"`);
    for (const use of ['signing', 'encryption']) {
      const [descriptor] = new RegExp(`<KeyDescriptor use="${use}">.*?</KeyDescriptor>`, 's').exec(xml) ?? [];
      expect(descriptor).toContain(bare(key.certificate));
    }
    // AD FS and Shibboleth encrypt as soon as they find a key for it, and reload our metadata by themselves.
    const usual = await protocol.metadataOf(connection);
    expect(usual).toBe(xml.replace(/\s*<KeyDescriptor use="encryption">.*?<\/KeyDescriptor>/s, ''));
    expect(usual).not.toContain('use="encryption"');
    const methods = [...xml.matchAll(/<EncryptionMethod Algorithm="([^"]+)"/g)].map(([, algorithm]) => algorithm);
    expect(methods).toEqual([
      'http://www.w3.org/2009/xmlenc11#aes256-gcm',
      'http://www.w3.org/2009/xmlenc11#aes128-gcm',
      'http://www.w3.org/2009/xmlenc11#rsa-oaep',
      'http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p',
    ]);
    expect(xml).toContain('AuthnRequestsSigned="true" WantAssertionsSigned="true"');
  });

  test('contains what was typed into a connection as text, and not as markup', async () => {
    const protocol = createSamlProtocol({
      baseUrl: 'https://id.example',
      keyOf: async () => asOurs(key),
      now: () => now,
    });
    const xml = await protocol.metadataOf({ ...connection, samlNameIdFormat: 'a<b>"&' });
    expect(xml).toContain('<NameIDFormat>a&lt;b&gt;&quot;&amp;</NameIDFormat>');
  });
});

test('a key that is not RSA is refused at its import, and not only at the first sign-in', async () => {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const certificate = await X509CertificateGenerator.createSelfSigned(
    { name: [{ CN: ['idp.example'] }], keys, signingAlgorithm: algorithm },
    webcrypto as Crypto,
  );
  refused(entity(keyDescriptor(bare(certificate.toString('pem'))) + redirect), /not RSA/);
});
