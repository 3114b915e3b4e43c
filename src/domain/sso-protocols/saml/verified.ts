import type { SignatureAlgorithm, SignedXml } from 'xml-crypto';
import { SsoRefused } from '../assertion.js';
import { loadSignatures } from './library.js';
import type { SamlProvider } from './settings.js';
import { readXml, rootElementOf, samlNamespaces, type XmlElement } from './xml.js';

/**
 * Returns an element as it was signed, read only from the canonical bytes that its signature covers.
 * @param text the text from which the element was read, and whose signatures `signaturesOf` has checked
 * @param element one with a signature directly in it
 * @throws SsoRefused `signature_invalid` unless a certificate of the provider verifies it
 */
export async function verifiedElement(
  text: string,
  { attributes }: XmlElement,
  { certificates }: Pick<SamlProvider, 'certificates'>,
): Promise<XmlElement> {
  const { SignedXml } = await loadSignatures();
  const whole = text.replace(/\r\n?/g, '\n'); // XML 1.0 §2.11, which the parser does not do
  const signature = signatureIn(rootElementOf(whole), attributes.get('ID'));
  const [publicCert] = certificates;
  const verifier = new SignedXml({ publicCert, getCertFromKeyInfo: () => null }); // one in the message is no proof
  verifier.SignatureAlgorithms = tryingAll(verifier.SignatureAlgorithms, certificates);
  const signed = signedPart(() => {
    verifier.loadSignature(signature);
    verifier.checkSignature(whole);
    return verifier.getSignedReferences()[0]; // undefined unless valid; `signaturesOf` lets at most one pass
  });
  if (signed !== undefined) return readXml(signed, { maxLength: 2 * whole.length }); // canonical form is longer
  throw new SsoRefused(
    'signature_invalid',
    'Its signature does not match a certificate of the connection, or covers something else',
  );
}

type Algorithms = SignedXml['SignatureAlgorithms'];

/**
 * Returns the algorithms, each of which tries every certificate in turn. A verifier knows only one certificate, and its
 * work before the check grows with the message: during a change of certificates, one verifier for each would repeat
 * that work for any message that anybody posts.
 */
const tryingAll = (algorithms: Algorithms, certificates: readonly string[]): Algorithms =>
  Object.fromEntries(
    Object.entries(algorithms).map(([name, Algorithm]) => [
      name,
      class extends (Algorithm as new () => SignatureAlgorithm) {
        override verifySignature = ((material: string, _: unknown, value: string) => {
          const one = new Algorithm();
          return certificates.some((certificate) =>
            signedPart(() => one.verifySignature(material, certificate, value)),
          );
        }) as SignatureAlgorithm['verifySignature'];
      },
    ]),
  ) as Algorithms;

/** Returns undefined if the library throws, as it does for a certificate with another kind of key. */
function signedPart<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

function signatureIn(root: Element, id: string | undefined): Element {
  const all = Array.from(root.getElementsByTagNameNS(samlNamespaces.signature, 'Signature'));
  const [found] = all.filter(({ parentNode }) => (parentNode as Element).getAttribute('ID') === id);
  if (!found) throw new SsoRefused('signature_invalid', 'It is not signed where it should be');
  return found;
}
