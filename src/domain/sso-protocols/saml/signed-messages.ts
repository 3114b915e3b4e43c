import { createVerify } from 'node:crypto';
import { inflateRawSync } from 'node:zlib';
import { SsoRefused } from '../assertion.js';
import { decodeMessage, decodeText } from './messages.js';
import type { SamlProvider } from './settings.js';
import { assertMessage, signaturesOf } from './signatures.js';
import { verifiedElement } from './verified.js';
import { readXml, type XmlElement } from './xml.js';

const maxLength = 64 * 1024;

/** A message as received: in a query string (SAML 2.0 Bindings §3.4), not decoded, or in a field of a form (§3.5). */
export type LogoutMessage = { query: string } | { form: string };

type Name = 'LogoutRequest' | 'LogoutResponse';
const fieldOf = { LogoutRequest: 'SAMLRequest', LogoutResponse: 'SAMLResponse' } as const;

/**
 * Returns a message of single logout, after checking that the provider's signature covers all of it.
 * @throws SsoRefused unsigned, signature_invalid, algorithm_refused, malformed, too_large
 */
export async function readSigned(name: Name, message: LogoutMessage, provider: SamlProvider): Promise<XmlElement> {
  return 'query' in message ? fromQuery(name, message.query, provider) : fromForm(name, message.form, provider);
}

/** In a form, the signature is inside the message. */
async function fromForm(name: Name, base64: string, provider: SamlProvider): Promise<XmlElement> {
  const text = decodeMessage(base64, maxLength);
  const message = readXml(text, { maxLength });
  assertMessage(message, name);
  if (!signaturesOf(message, { assertion: null }).message) throw new SsoRefused('unsigned', 'It is not signed');
  return verifiedElement(text, message, provider);
}

const signers: Readonly<Record<string, string>> = {
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256': 'RSA-SHA256',
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha512': 'RSA-SHA512',
};

/** In a query string, the signature is a parameter, and covers the others as they were encoded (Bindings §3.4.4.1). */
function fromQuery(name: Name, query: string, { certificates }: SamlProvider): XmlElement {
  if (query.length > 2 * maxLength) throw new SsoRefused('too_large', 'It is too long to be read');
  const field = fieldOf[name];
  const written = writtenParameters(query, [field, 'RelayState', 'SigAlg', 'Signature']);
  const value = (parameter: string) => decodeURIComponent((written.get(parameter) ?? '').replaceAll('+', ' '));
  const [algorithm, signature] = [value('SigAlg'), value('Signature')];
  if (!signature) throw new SsoRefused('unsigned', 'It is not signed');
  const signer = Object.hasOwn(signers, algorithm) ? signers[algorithm] : undefined;
  if (!signer)
    throw new SsoRefused('algorithm_refused', `It is signed with ${algorithm.slice(0, 100) || 'nothing named'}`);
  const signed = [field, 'RelayState', 'SigAlg']
    .filter((parameter) => written.has(parameter))
    .map((parameter) => `${parameter}=${written.get(parameter)}`)
    .join('&');
  const isBy = (certificate: string) => createVerify(signer).update(signed).verify(certificate, signature, 'base64');
  if (!certificates.some(isBy)) {
    throw new SsoRefused('signature_invalid', 'Its signature does not match a certificate of the connection');
  }
  const message = readXml(inflated(value(field)), { maxLength });
  assertMessage(message, name);
  return message;
}

/** Returns the named parameters, still encoded; each may occur once. @throws SsoRefused */
function writtenParameters(query: string, names: readonly string[]): Map<string, string> {
  const written = new Map<string, string>();
  for (const part of query.split('&')) {
    const at = part.indexOf('=');
    const [name, value] = [part.slice(0, at), part.slice(at + 1)];
    if (at < 0 || !names.includes(name)) continue;
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

/** Decompresses by RFC 1951, as Bindings §3.4.4.1 requires, up to the limit. */
function inflated(base64: string): string {
  try {
    return decodeText(inflateRawSync(Buffer.from(base64, 'base64'), { maxOutputLength: maxLength }));
  } catch (cause) {
    if (cause instanceof SsoRefused) throw cause;
    throw new SsoRefused('malformed', 'It cannot be decompressed, or is too long', { cause });
  }
}
