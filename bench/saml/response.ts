import { createHash, createPrivateKey, type KeyObject, randomUUID, sign } from 'node:crypto';
import { inflateRawSync } from 'node:zlib';
import type { SamlSeed } from './seed.js';

const names = {
  assertion: 'urn:oasis:names:tc:SAML:2.0:assertion',
  protocol: 'urn:oasis:names:tc:SAML:2.0:protocol',
  signature: 'http://www.w3.org/2000/09/xmldsig#',
  exclusive: 'http://www.w3.org/2001/10/xml-exc-c14n#',
};
const emailFormat = 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress';

/** Parses the request in the URL by which a browser arrives at the provider (SAML 2.0 Bindings §3.4). */
export function requestIn(url: string) {
  const { searchParams } = new URL(url);
  const xml = inflateRawSync(Buffer.from(searchParams.get('SAMLRequest') ?? '', 'base64')).toString();
  const attribute = (name: string) => new RegExp(` ${name}="([^"]+)"`).exec(xml)?.[1] ?? '';
  return {
    id: attribute('ID'),
    acsUrl: attribute('AssertionConsumerServiceURL'),
    entityId: /Issuer[^>]*>([^<]+)</.exec(xml)?.[1] ?? '',
    relayState: searchParams.get('RelayState') ?? '',
  };
}

/** Creates a provider that signs its assertions with RSA and SHA-256. It writes XML that is already canonical. */
export function createProvider({ issuer, privateKey }: Pick<SamlSeed, 'issuer' | 'privateKey'>) {
  const key = createPrivateKey(privateKey);
  return (request: ReturnType<typeof requestIn>, email: string): Record<string, string> => {
    const now = Date.now();
    const [at, from, until] = [now, now - 30_000, now + 300_000].map((ms) => new Date(ms).toISOString());
    const { id, acsUrl, entityId, relayState } = request;
    const assertionId = `_${randomUUID()}`;
    const start = `<saml:Assertion xmlns:saml="${names.assertion}" ID="${assertionId}" IssueInstant="${at}" Version="2.0"><saml:Issuer>${issuer}</saml:Issuer>`;
    const rest = `<saml:Subject><saml:NameID Format="${emailFormat}">${email}</saml:NameID><saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer"><saml:SubjectConfirmationData InResponseTo="${id}" NotOnOrAfter="${until}" Recipient="${acsUrl}"></saml:SubjectConfirmationData></saml:SubjectConfirmation></saml:Subject><saml:Conditions NotBefore="${from}" NotOnOrAfter="${until}"><saml:AudienceRestriction><saml:Audience>${entityId}</saml:Audience></saml:AudienceRestriction></saml:Conditions><saml:AuthnStatement AuthnInstant="${at}" SessionIndex="${assertionId}"><saml:AuthnContext><saml:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement><saml:AttributeStatement><saml:Attribute Name="givenName"><saml:AttributeValue>Person</saml:AttributeValue></saml:Attribute></saml:AttributeStatement></saml:Assertion>`;
    const assertion = `${start}${signatureOf(`${start}${rest}`, assertionId, key)}${rest}`;
    const response = `<samlp:Response xmlns:samlp="${names.protocol}" ID="_${randomUUID()}" Version="2.0" IssueInstant="${at}" Destination="${acsUrl}" InResponseTo="${id}"><saml:Issuer xmlns:saml="${names.assertion}">${issuer}</saml:Issuer><samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/></samlp:Status>${assertion}</samlp:Response>`;
    return { SAMLResponse: Buffer.from(response).toString('base64'), RelayState: relayState };
  };
}

/** Returns an enveloped signature (XML Signature §4) of an element that is already canonical. */
function signatureOf(canonical: string, id: string, key: KeyObject): string {
  const algorithm = (uri: string, name: string) => `<ds:${name} Algorithm="${uri}"></ds:${name}>`;
  const digest = createHash('sha256').update(canonical).digest('base64');
  const transforms = `<ds:Transforms>${algorithm(`${names.signature}enveloped-signature`, 'Transform')}${algorithm(names.exclusive, 'Transform')}</ds:Transforms>`;
  const reference = `<ds:Reference URI="#${id}">${transforms}${algorithm('http://www.w3.org/2001/04/xmlenc#sha256', 'DigestMethod')}<ds:DigestValue>${digest}</ds:DigestValue></ds:Reference>`;
  const content = `${algorithm(names.exclusive, 'CanonicalizationMethod')}${algorithm('http://www.w3.org/2001/04/xmldsig-more#rsa-sha256', 'SignatureMethod')}${reference}`;
  const signed = `<ds:SignedInfo xmlns:ds="${names.signature}">${content}</ds:SignedInfo>`;
  const value = sign('sha256', Buffer.from(signed), key).toString('base64');
  return `<ds:Signature xmlns:ds="${names.signature}"><ds:SignedInfo>${content}</ds:SignedInfo><ds:SignatureValue>${value}</ds:SignatureValue></ds:Signature>`;
}
