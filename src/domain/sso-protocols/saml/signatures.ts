import { SsoRefused } from '../assertion.js';
import { childOf, childrenOf, everyElement, samlNamespaces, type XmlElement } from './xml.js';

const { assertion, protocol, signature: dsig } = samlNamespaces;

/** The accepted signature algorithms of SAML messages: none with SHA-1, and none symmetric. */
const signatureMethods = new Set([
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha512',
  'http://www.w3.org/2007/05/xmldsig-more#sha256-rsa-MGF1',
]);
const digestMethods = new Set(['http://www.w3.org/2001/04/xmlenc#sha256', 'http://www.w3.org/2001/04/xmlenc#sha512']);
const exclusive = 'http://www.w3.org/2001/10/xml-exc-c14n#';
const canonicalizations = new Set([exclusive, 'http://www.w3.org/TR/2001/REC-xml-c14n-20010315']);
const transforms = new Set([exclusive, 'http://www.w3.org/2000/09/xmldsig#enveloped-signature']);

/** Which parts of a message have a signature. Whether it is valid is checked later. */
export interface Signed {
  message: boolean;
  assertion: boolean;
}

/**
 * Refuses every message whose signature could cover anything but the element that contains it: signatures elsewhere,
 * several, of another element, of a duplicate id, or with an algorithm or a transformation that SAML 2.0 Core §5.4 does
 * not define. This leaves no room for XML signature wrapping attacks, which move elements around.
 * @param root the message
 * @param signable the message, and its assertion if it has one
 * @throws SsoRefused
 */
export function signaturesOf(root: XmlElement, signable: { assertion: XmlElement | null }): Signed {
  const all = [...everyElement(root)].filter(({ namespace, name }) => namespace === dsig && name === 'Signature');
  const ofMessage = signatureIn(root);
  const ofAssertion = signable.assertion && signatureIn(signable.assertion);
  const known = [ofMessage, ofAssertion].filter((found) => found !== null);
  if (all.length !== known.length) {
    throw new SsoRefused(
      'signature_invalid',
      'It has a signature that is not directly in the message or its assertion',
    );
  }
  assertIdsUnique(root);
  if (ofMessage) assertSigns(ofMessage, root);
  if (ofAssertion && signable.assertion) assertSigns(ofAssertion, signable.assertion);
  return { message: ofMessage !== null, assertion: ofAssertion !== null };
}

function signatureIn(element: XmlElement): XmlElement | null {
  const found = childrenOf(element, dsig, 'Signature');
  if (found.length > 1) throw new SsoRefused('signature_invalid', `Its ${element.name} has more than one signature`);
  return found[0] ?? null;
}

/** Checks several roots together: a decrypted assertion, and the response around it. @throws SsoRefused */
export function assertIdsUnique(...roots: XmlElement[]): void {
  const seen = new Set<string>();
  for (const { attributes } of roots.flatMap((root) => [...everyElement(root)])) {
    for (const name of ['ID', 'Id', 'id']) {
      const id = attributes.get(name);
      if (id === undefined) continue;
      if (seen.has(id)) throw new SsoRefused('signature_invalid', 'An ID is used on more than one element');
      seen.add(id);
    }
  }
}

function assertSigns(signature: XmlElement, signed: XmlElement): void {
  const info = childOf(signature, dsig, 'SignedInfo');
  const references = info ? childrenOf(info, dsig, 'Reference') : [];
  const [reference] = references;
  if (!info || !reference || references.length > 1) {
    throw new SsoRefused('signature_invalid', 'Its signature does not refer to exactly one element');
  }
  const id = signed.attributes.get('ID') ?? '';
  if (!id || reference.attributes.get('URI') !== `#${id}`) {
    throw new SsoRefused('signature_invalid', 'Its signature covers another element than the one that contains it');
  }
  if (childrenOf(signature, dsig, 'Object').length)
    throw new SsoRefused('signature_invalid', 'Its signature has an Object');
  assertAlgorithms(info, reference);
}

function assertAlgorithms(info: XmlElement, reference: XmlElement): void {
  const named = (parent: XmlElement, name: string) => childOf(parent, dsig, name)?.attributes.get('Algorithm') ?? '';
  const among = (known: ReadonlySet<string>, algorithm: string) => {
    if (!known.has(algorithm)) {
      throw new SsoRefused('algorithm_refused', `It is signed with ${algorithm.slice(0, 100) || 'nothing named'}`);
    }
  };
  among(signatureMethods, named(info, 'SignatureMethod'));
  among(canonicalizations, named(info, 'CanonicalizationMethod'));
  among(digestMethods, named(reference, 'DigestMethod'));
  const applied = childOf(reference, dsig, 'Transforms')?.children ?? [];
  if (applied.length > 2) throw new SsoRefused('signature_invalid', 'Its signature has too many transformations');
  for (const transform of applied) among(transforms, transform.attributes.get('Algorithm') ?? '');
}

const assertionNames = ['Assertion', 'EncryptedAssertion'];

/** Returns the only assertion of a response, plain or encrypted, without others anywhere. @throws SsoRefused */
export function onlyAssertionOf(response: XmlElement): XmlElement | null {
  const found = [...everyElement(response)].filter(({ name }) => assertionNames.includes(name));
  if (found.length > 1) throw new SsoRefused('malformed', 'It has more than one assertion');
  const [only] = assertionNames.flatMap((name) => childrenOf(response, assertion, name));
  if (found.length && !only) throw new SsoRefused('malformed', 'Its assertion is not in the right place');
  return only ?? null;
}

/** What else SAML 2.0 lets a provider encrypt (Core §2.2.4, §2.7.3.2), and an assertion in an assertion. */
const parts = new Set(['EncryptedID', 'EncryptedAttribute', 'EncryptedAssertion', 'NewEncryptedID', 'EncryptedData']);

/** @throws SsoRefused if anything below is encrypted, since the reader would miss a part of what was said */
export function assertNothingEncrypted(root: XmlElement): void {
  const encrypted = [...everyElement(root)].find(({ name }) => parts.has(name));
  if (!encrypted) return;
  throw new SsoRefused(
    'encryption_unsupported',
    `It has an ${encrypted.name}: have the provider encrypt the assertion as a whole, or nothing`,
  );
}

/** @throws SsoRefused unless the message is the one of SAML 2.0 with this name */
export function assertMessage(root: XmlElement, name: string): void {
  if (root.namespace !== protocol || root.name !== name || root.attributes.get('Version') !== '2.0') {
    throw new SsoRefused('malformed', `It is not a SAML 2.0 ${name}`);
  }
}
