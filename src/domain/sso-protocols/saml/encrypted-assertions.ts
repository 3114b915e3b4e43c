import type { KeyObject } from 'node:crypto';
import { SsoRefused } from '../assertion.js';
import { type ContentCipher, contentCiphers, decrypt, type OaepHash, oaepHashes } from './decryption.js';
import { decodeBytes, decodeText } from './messages.js';
import { childOf, childrenOf, everyElement, readXml, samlNamespaces, type XmlElement, XmlRefused } from './xml.js';

const { assertion: saml, signature: dsig, encryption: xenc, encryption11: xenc11 } = samlNamespaces;
const [oaepMgf1p, oaep] = [`${xenc}rsa-oaep-mgf1p`, `${xenc11}rsa-oaep`];
const mask1 = `${xenc11}mgf1sha1`;

/** How to open an encrypted assertion. */
export interface Opening {
  privateKey: KeyObject;
  /** Our name, as one of several recipients. */
  entityId: string;
  /** Whether it was read from bytes that the provider has signed. */
  isSigned: boolean;
  maxLength: number;
}

/** A decrypted assertion, and the text that it was read from. */
export interface Opened {
  text: string;
  element: XmlElement;
}

/**
 * Decrypts an EncryptedAssertion (SAML 2.0 Core §2.3.4 and §6, XML Encryption 1.1). Anybody can encrypt to us, so this
 * does not prove its origin. Faults that are visible without our key have refusals of their own, before the key is
 * used; all failures after that are the same `decryption_failed`.
 * @throws SsoRefused `algorithm_refused`, `malformed`, `decryption_failed`
 */
export function openAssertion(encrypted: XmlElement, { privateKey, entityId, isSigned, maxLength }: Opening): Opened {
  const data = childOf(encrypted, xenc, 'EncryptedData');
  if (!data || (data.attributes.get('Type') ?? `${xenc}Element`) !== `${xenc}Element`) {
    throw new SsoRefused('malformed', 'Its EncryptedAssertion does not have exactly one EncryptedData with an element');
  }
  const encryptedKey = keyFor(encrypted, data, entityId);
  const cipher = cipherOf(data, isSigned);
  const oaepHash = hashOf(encryptedKey);
  const [content, key] = [bytesIn(data), bytesIn(encryptedKey)];
  const text = textOf(cipher, { content, key, oaepHash, privateKey });
  const element = read(text, maxLength);
  if (element.namespace !== saml || element.name !== 'Assertion') throw unreadable('it is not an assertion');
  if ([...everyElement(element)].filter(({ name }) => name === 'Assertion').length > 1) {
    throw unreadable('it has more than one assertion');
  }
  return { text, element };
}

/** Returns the key that names us as its recipient, or else the only one that names nobody. */
function keyFor(encrypted: XmlElement, data: XmlElement, entityId: string): XmlElement {
  const info = childOf(data, dsig, 'KeyInfo');
  const methods = info ? childrenOf(info, dsig, 'RetrievalMethod') : [];
  if (methods.some(({ children }) => children.length > 0)) {
    throw new SsoRefused('malformed', 'Its RetrievalMethod transforms what it finds');
  }
  const pointed = new Set(methods.map(({ attributes }) => attributes.get('URI') ?? ''));
  const beside = childrenOf(encrypted, xenc, 'EncryptedKey').filter(
    ({ attributes }) => !methods.length || pointed.has(`#${attributes.get('Id')}`),
  );
  const all = [...(info ? childrenOf(info, xenc, 'EncryptedKey') : []), ...beside];
  const forName = (name: string | undefined) => all.filter(({ attributes }) => attributes.get('Recipient') === name);
  const named = forName(entityId);
  const [only, ...others] = named.length ? named : forName(undefined);
  if (only && !others.length) return only;
  throw new SsoRefused(
    'malformed',
    `It does not have exactly one EncryptedKey for us, but ${others.length ? 'several' : 'none'}`,
  );
}

function cipherOf(data: XmlElement, isSigned: boolean): ContentCipher {
  const algorithm = childOf(data, xenc, 'EncryptionMethod')?.attributes.get('Algorithm') ?? '';
  const cipher = contentCiphers.get(algorithm);
  if (!cipher) throw refused(algorithm);
  if (cipher.isAuthenticated || isSigned) return cipher;
  throw new SsoRefused(
    'algorithm_refused',
    `It is encrypted with ${cipher.name}, which is accepted only in signed responses: have the provider also sign the ` +
      'response, or encrypt with AES-GCM',
  );
}

function hashOf(key: XmlElement): OaepHash {
  const method = childOf(key, xenc, 'EncryptionMethod');
  const algorithm = method?.attributes.get('Algorithm') ?? '';
  if (!method || ![oaepMgf1p, oaep].includes(algorithm)) throw refused(algorithm);
  const named = (namespace: string, name: string) => childOf(method, namespace, name)?.attributes.get('Algorithm');
  const digest = named(dsig, 'DigestMethod') ?? `${dsig}sha1`;
  const mask = (algorithm === oaep ? named(xenc11, 'MGF') : undefined) ?? mask1;
  const known = oaepHashes.get(digest);
  if (childOf(method, xenc, 'OAEPparams')?.text.trim()) throw refused('RSA-OAEP with OAEPparams');
  if (known?.mask !== mask) throw refused(`RSA-OAEP with ${digest} and ${mask}`);
  return known.hash;
}

const refused = (algorithm: string) =>
  new SsoRefused(
    'algorithm_refused',
    `It is encrypted with ${algorithm.slice(0, 200) || 'nothing named'}, which is not accepted`,
  );

function bytesIn(encrypted: XmlElement): Buffer {
  const data = childOf(encrypted, xenc, 'CipherData');
  const value = data && childOf(data, xenc, 'CipherValue');
  if (!value) throw new SsoRefused('malformed', `Its ${encrypted.name} has no CipherValue`);
  return decodeBytes(value.text);
}

function textOf(...encrypted: Parameters<typeof decrypt>): string {
  try {
    return decodeText(decrypt(...encrypted));
  } catch {
    throw new SsoRefused(
      'decryption_failed',
      'It cannot be decrypted with the key of the connection: the provider uses another certificate than the one in our ' +
        'metadata, or the response was changed on its way',
    );
  }
}

function read(text: string, maxLength: number): XmlElement {
  try {
    return readXml(text, { maxLength });
  } catch (refusal) {
    if (refusal instanceof XmlRefused) throw unreadable(refusal.message, refusal);
    throw refusal;
  }
}

const unreadable = (why: string, cause?: XmlRefused) =>
  new SsoRefused('decryption_failed', `The decrypted content is not accepted: ${why}`, { cause });
