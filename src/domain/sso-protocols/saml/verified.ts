import type { SignatureAlgorithm, SignedXml } from 'xml-crypto';
import { SsoRefused } from '../assertion.js';
import { loadSignatures } from './library.js';
import type { SamlProvider } from './settings.js';
import { readXml, rootElementOf, samlNamespaces, type XmlElement } from './xml.js';

/**
 * An element as it was signed: read from the canonical bytes that its signature is on, and from nothing else.
 * @param text what the element was read from, and in which `signaturesOf` has found nothing but what is right
 * @param element one that has a signature right in it
 * @throws SsoRefused `signature_invalid` unless that is by a certificate of the provider's
 */
export async function verifiedElement(
  text: string,
  { attributes }: XmlElement,
  { certificates }: Pick<SamlProvider, 'certificates'>,
): Promise<XmlElement> {
  const { SignedXml } = await loadSignatures();
  const whole = text.replace(/\r\n?/g, '\n'); // XML 1.0 §2.11, which the parser leaves to others
  const signature = signatureIn(rootElementOf(whole), attributes.get('ID'));
  const [publicCert] = certificates;
  const verifier = new SignedXml({ publicCert, getCertFromKeyInfo: () => null }); // what comes along proves nothing
  verifier.SignatureAlgorithms = tryingAll(verifier.SignatureAlgorithms, certificates);
  const signed = signedPart(() => {
    verifier.loadSignature(signature);
    verifier.checkSignature(whole);
    return verifier.getSignedReferences()[0]; // none unless it is right, and `signaturesOf` lets pass no more than one
  });
  if (signed !== undefined) return readXml(signed, { maxLength: 2 * whole.length }); // canonical form says more
  throw new SsoRefused(
    'signature_invalid',
    'Its signature does not match a certificate of the connection, or covers something else',
  );
}

type Algorithms = SignedXml['SignatureAlgorithms'];

/**
 * The algorithms, each asking for every certificate in turn. A verifier knows one, and what it does before it asks costs by the size of the
 * message: a provider that changes its certificates would have each of them read it anew, for whoever posts one.
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

/** Undefined where the library refuses by an error, as a certificate of another kind of key is. */
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
