import { createPrivateKey, randomUUID } from 'node:crypto';
import { SignedXml } from 'xml-crypto';
import type { ServiceProviderKey } from '../../../src/domain/sso-protocols/saml/requests.js';
import { newSelfSigned } from '../../../src/platform/crypto/self-signed.js';

const exclusive = 'http://www.w3.org/2001/10/xml-exc-c14n#';
export const rsaSha256 = 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256';
const bearer = 'urn:oasis:names:tc:SAML:2.0:cm:bearer';

/** Creates a signing key pair of a provider. */
export const newProviderKey = (): Promise<ProviderKey> =>
  newSelfSigned('idp.example', {
    from: new Date(Date.now() - 86_400_000),
    until: new Date(Date.now() + 86_400_000),
    bits: 2048,
  });

export interface ProviderKey {
  privateKey: string;
  certificate: string;
}

/** Returns the same key as one of ours. */
export const asOurs = ({ privateKey, certificate }: ProviderKey): ServiceProviderKey => ({
  privateKey: createPrivateKey(privateKey),
  certificate,
});

/** The parts of a response; a test changes those that it is about. */
export interface ResponseParts {
  issuer: string;
  acsUrl: string;
  audience: string;
  inResponseTo: string | null;
  now: Date;
  nameId: string;
  nameIdAttributes: string;
  destination: string | null;
  recipient: string;
  notBefore: Date;
  notOnOrAfter: Date;
  authnInstant: Date;
  sessionNotOnOrAfter: Date | null;
  sessionIndex: string;
  issueInstant: Date;
  assertionId: string;
  responseId: string;
  status: string;
  contextClass: string;
  attributes: Record<string, string[]>;
  /** More content of the Conditions. */
  conditions: string;
}

export type Basics = Pick<ResponseParts, 'issuer' | 'acsUrl' | 'audience' | 'inResponseTo' | 'now'>;

/** Returns the parts of an honest provider's answer. */
export function partsOf(basics: Basics, changes: Partial<ResponseParts> = {}): ResponseParts {
  const later = (ms: number) => new Date(basics.now.getTime() + ms);
  return {
    ...basics,
    nameId: 'ana@acme.example',
    nameIdAttributes: ' Format="urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress"',
    destination: basics.acsUrl,
    recipient: basics.acsUrl,
    notBefore: later(-30_000),
    notOnOrAfter: later(300_000),
    authnInstant: later(-1_000),
    sessionNotOnOrAfter: null,
    sessionIndex: '_session',
    issueInstant: basics.now,
    assertionId: `_${randomUUID()}`,
    responseId: `_${randomUUID()}`,
    status: 'urn:oasis:names:tc:SAML:2.0:status:Success',
    contextClass: 'urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport',
    attributes: { givenName: ['Ana'], groups: ['staff', 'admins'] },
    conditions: '',
    ...changes,
  };
}

/** Returns the unsigned assertion. It declares its own namespaces, so that it stays valid wherever it is moved. */
export function assertionXml(parts: ResponseParts): string {
  const answers = parts.inResponseTo === null ? '' : ` InResponseTo="${parts.inResponseTo}"`;
  const until = parts.notOnOrAfter.toISOString();
  const session = parts.sessionNotOnOrAfter ? ` SessionNotOnOrAfter="${parts.sessionNotOnOrAfter.toISOString()}"` : '';
  const attributes = Object.entries(parts.attributes).map(
    ([name, values]) =>
      `<saml:Attribute Name="${name}">${values.map((value) => `<saml:AttributeValue>${value}</saml:AttributeValue>`).join('')}</saml:Attribute>`,
  );
  return `<saml:Assertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="${parts.assertionId}" Version="2.0" IssueInstant="${parts.issueInstant.toISOString()}"><saml:Issuer>${parts.issuer}</saml:Issuer><saml:Subject><saml:NameID${parts.nameIdAttributes}>${parts.nameId}</saml:NameID><saml:SubjectConfirmation Method="${bearer}"><saml:SubjectConfirmationData${answers} NotOnOrAfter="${until}" Recipient="${parts.recipient}"/></saml:SubjectConfirmation></saml:Subject><saml:Conditions NotBefore="${parts.notBefore.toISOString()}" NotOnOrAfter="${until}"><saml:AudienceRestriction><saml:Audience>${parts.audience}</saml:Audience></saml:AudienceRestriction>${parts.conditions}</saml:Conditions><saml:AuthnStatement AuthnInstant="${parts.authnInstant.toISOString()}" SessionIndex="${parts.sessionIndex}"${session}><saml:AuthnContext><saml:AuthnContextClassRef>${parts.contextClass}</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>${attributes.length ? `<saml:AttributeStatement>${attributes.join('')}</saml:AttributeStatement>` : ''}</saml:Assertion>`;
}

/** Returns a response around any content. */
export function responseXml(parts: ResponseParts, content: string): string {
  const answers = parts.inResponseTo === null ? '' : ` InResponseTo="${parts.inResponseTo}"`;
  const destination = parts.destination === null ? '' : ` Destination="${parts.destination}"`;
  return `<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" ID="${parts.responseId}" Version="2.0" IssueInstant="${parts.issueInstant.toISOString()}"${destination}${answers}><saml:Issuer xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion">${parts.issuer}</saml:Issuer><samlp:Status><samlp:StatusCode Value="${parts.status}"/></samlp:Status>${content}</samlp:Response>`;
}

export interface SigningChoices {
  signatureAlgorithm?: string;
  digestAlgorithm?: string;
  transforms?: string[];
}

/** Signs the element of that name; the signature follows its Issuer, its first child (SAML 2.0 Core §2.3.3). */
export function sign(
  xml: string,
  element: string,
  { privateKey, certificate }: ProviderKey,
  choices: SigningChoices = {},
) {
  const signer = new SignedXml({
    privateKey,
    publicCert: certificate,
    signatureAlgorithm: choices.signatureAlgorithm ?? rsaSha256,
    canonicalizationAlgorithm: exclusive,
  });
  const at = `//*[local-name(.)='${element}']`;
  signer.addReference({
    xpath: at,
    transforms: choices.transforms ?? ['http://www.w3.org/2000/09/xmldsig#enveloped-signature', exclusive],
    digestAlgorithm: choices.digestAlgorithm ?? 'http://www.w3.org/2001/04/xmlenc#sha256',
  });
  signer.computeSignature(xml, { location: { reference: `${at}/*[local-name(.)='Issuer']`, action: 'after' } });
  return signer.getSignedXml();
}

/** Returns a response as an honest provider sends it: the assertion is signed. */
export const signedResponse = (parts: ResponseParts, key: ProviderKey, choices?: SigningChoices): string =>
  responseXml(parts, sign(assertionXml(parts), 'Assertion', key, choices));

/** Encodes a response for HTTP-POST. */
export const posted = (xml: string): string => Buffer.from(xml).toString('base64');
