import { createVerify } from 'node:crypto';
import { inflateRawSync } from 'node:zlib';
import type { SsoConnection } from '../../../../entities/sso-connection.js';
import { SsoRefused } from '../assertion.js';
import { assertIssuer } from './assertions.js';
import { loadLibrary } from './library.js';
import { decodeMessage, decodeText } from './messages.js';
import type { ServiceProviderKey } from './requests.js';
import { providerOf, type SamlProvider, serviceProviderOf, signatureAlgorithmOf } from './settings.js';
import { assertMessage, signaturesOf } from './signatures.js';
import { lastingNameOf, nameIdOf } from './subjects.js';
import { assertPast, assertWithin, instantOf, skewMs } from './times.js';
import { childOf, childrenOf, readXml, samlNamespaces, type XmlElement } from './xml.js';

const { assertion: saml, protocol } = samlNamespaces;
const maxLength = 64 * 1024;
/** How old a LogoutRequest may be that does not say itself until when it is good. */
const lifeMs = 5 * 60_000;

/** A message as it came: in a query string (SAML 2.0 Bindings §3.4), as it was written, or in a form (§3.5). */
export type LogoutMessage = { query: string } | { samlRequest: string };

/** Whose session at the provider has ended. */
export interface LogoutRequest {
  /** Of the message, for its answer. */
  id: string;
  /** As `Assertion.subject` names the person. */
  subject: string;
  /** Which of their sessions; none: all. */
  sessionIndexes: string[];
  /** The message works once, and until when it could be tried. */
  once: { id: string; until: Date };
}

interface Checking {
  baseUrl: string;
  now: Date;
}

/**
 * Checks a provider's LogoutRequest (SAML 2.0 Profiles §4.4.4.1, Core §3.7.1): signed, from the connection's provider, to us
 * and of now.
 * @throws SsoRefused
 */
export async function verifyLogoutRequest(
  connection: SsoConnection,
  message: LogoutMessage,
  { baseUrl, now }: Checking,
): Promise<LogoutRequest> {
  const provider = providerOf(connection);
  const serviceProvider = serviceProviderOf(baseUrl, connection.id);
  const request =
    'query' in message
      ? fromQuery(message.query, provider)
      : await fromForm(message.samlRequest, provider, serviceProvider.entityId);
  assertIssuer(childOf(request, saml, 'Issuer'), provider);
  if (request.attributes.get('Destination') !== serviceProvider.sloUrl) {
    throw new SsoRefused('destination_mismatch', `Its Destination is not ${serviceProvider.sloUrl}`);
  }
  const id = request.attributes.get('ID');
  const issuedAt = instantOf(request, 'IssueInstant');
  if (!id || !issuedAt) throw new SsoRefused('malformed', 'It lacks an id or the time when it was issued');
  assertPast(issuedAt, 'IssueInstant', now);
  assertWithin(request, now);
  const until = instantOf(request, 'NotOnOrAfter') ?? new Date(issuedAt.getTime() + lifeMs);
  if (now.getTime() - skewMs >= until.getTime()) throw new SsoRefused('expired', 'It was issued too long ago');
  return {
    id,
    subject: lastingNameOf(nameIdOf(request), {}, { provider, serviceProvider }),
    sessionIndexes: childrenOf(request, protocol, 'SessionIndex').map(({ text }) => text.trim()),
    once: { id, until: new Date(until.getTime() + skewMs) },
  };
}

/**
 * Where a browser takes our answer to a LogoutRequest; null where the provider has no place for it.
 * @param relayState of the request; goes back as it came
 */
export async function logoutResponseUrl(
  connection: SsoConnection,
  { id, relayState }: { id: string; relayState: string | null },
  { baseUrl, key }: { baseUrl: string; key: ServiceProviderKey },
): Promise<string | null> {
  const { certificates, ssoUrl } = providerOf(connection);
  if (!connection.samlSloUrl) return null;
  const { entityId, sloUrl } = serviceProviderOf(baseUrl, connection.id);
  const { SAML } = await loadLibrary();
  const library = new SAML({
    idpCert: certificates,
    issuer: entityId,
    callbackUrl: sloUrl,
    entryPoint: ssoUrl,
    logoutUrl: connection.samlSloUrl,
    privateKey: key.privateKey,
    signatureAlgorithm: signatureAlgorithmOf(connection),
  });
  const answered = { ID: id, issuer: '', nameID: '', nameIDFormat: '' };
  return library.getLogoutResponseUrlAsync(answered, relayState ?? '', {}, true);
}

/** In a form, the message has its signature in itself. */
async function fromForm(base64: string, provider: SamlProvider, entityId: string): Promise<XmlElement> {
  const text = decodeMessage(base64, maxLength);
  const request = readXml(text, { maxLength });
  assertMessage(request, 'LogoutRequest');
  if (!signaturesOf(request, { assertion: null }).message) throw new SsoRefused('unsigned', 'It is not signed');
  const { SAML, ValidateInResponseTo } = await loadLibrary();
  const library = new SAML({
    idpCert: provider.certificates,
    issuer: entityId,
    callbackUrl: entityId,
    acceptedClockSkewMs: -1, // checked here, by the api's clock
    validateInResponseTo: ValidateInResponseTo.never,
  });
  try {
    // All of the message is signed: what was read above is what the library looks at.
    await library.validatePostRequestAsync({ SAMLRequest: Buffer.from(text).toString('base64') });
  } catch (cause) {
    if (!(cause instanceof Error && /signature/i.test(cause.message))) {
      throw new SsoRefused('malformed', 'It cannot be read, or names nobody', { cause });
    }
    throw new SsoRefused('signature_invalid', 'Its signature is not by a certificate of the connection', { cause });
  }
  return request;
}

const signers: Readonly<Record<string, string>> = {
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256': 'RSA-SHA256',
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha512': 'RSA-SHA512',
};

/** In a query string, the signature is beside the message, on the parameters as they were written (Bindings §3.4.4.1). */
function fromQuery(query: string, { certificates }: SamlProvider): XmlElement {
  if (query.length > 2 * maxLength) throw new SsoRefused('too_large', 'It is too long to be read');
  const written = writtenParameters(query);
  const value = (name: string) => decodeURIComponent((written.get(name) ?? '').replaceAll('+', ' '));
  const [algorithm, signature] = [value('SigAlg'), value('Signature')];
  if (!signature) throw new SsoRefused('unsigned', 'It is not signed');
  const signer = Object.hasOwn(signers, algorithm) ? signers[algorithm] : undefined;
  if (!signer)
    throw new SsoRefused('algorithm_refused', `It is signed with ${algorithm.slice(0, 100) || 'nothing named'}`);
  const signed = ['SAMLRequest', 'RelayState', 'SigAlg']
    .filter((name) => written.has(name))
    .map((name) => `${name}=${written.get(name)}`)
    .join('&');
  const isBy = (certificate: string) => createVerify(signer).update(signed).verify(certificate, signature, 'base64');
  if (!certificates.some(isBy)) {
    throw new SsoRefused('signature_invalid', 'Its signature is not by a certificate of the connection');
  }
  const request = readXml(inflated(value('SAMLRequest')), { maxLength });
  assertMessage(request, 'LogoutRequest');
  return request;
}

/** The four that count, each at most once and not decoded. @throws SsoRefused */
function writtenParameters(query: string): Map<string, string> {
  const written = new Map<string, string>();
  for (const part of query.split('&')) {
    const [, name = '', value = ''] = /^(SAMLRequest|RelayState|SigAlg|Signature)=(.*)$/s.exec(part) ?? [];
    if (!name) continue;
    if (written.has(name)) throw new SsoRefused('malformed', `It has more than one ${name}`);
    try {
      decodeURIComponent(value);
    } catch (cause) {
      throw new SsoRefused('malformed', `Its ${name} cannot be decoded`, { cause });
    }
    written.set(name, value);
  }
  return written;
}

/** RFC 1951, as Bindings §3.4.4.1 has it; what grows beyond bounds is left. */
function inflated(base64: string): string {
  try {
    return decodeText(inflateRawSync(Buffer.from(base64, 'base64'), { maxOutputLength: maxLength }));
  } catch (cause) {
    if (cause instanceof SsoRefused) throw cause;
    throw new SsoRefused('malformed', 'It cannot be inflated, or is too long', { cause });
  }
}
