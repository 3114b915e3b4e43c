import { type KeyObject, sign } from 'node:crypto';
import { promisify } from 'node:util';
import type { SsoConnection } from '../../../../entities/sso-connection.js';

const signInThread = promisify(sign);
const signedParameters = ['SAMLRequest', 'SAMLResponse', 'RelayState'];
const sha256 = { hash: 'RSA-SHA256', name: 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256' };
const sha512 = { hash: 'RSA-SHA512', name: 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha512' };

/**
 * Signs a URL that takes a message to a provider, as it is encoded there (SAML 2.0 Bindings §3.4.4.1). The library that
 * writes the message would sign on the main thread, which takes a millisecond and more per message, and would sign
 * another encoding of the RelayState than that of the URL.
 */
export async function signedUrl(
  url: string,
  { samlSignatureAlgorithm }: Pick<SsoConnection, 'samlSignatureAlgorithm'>,
  privateKey: KeyObject,
): Promise<string> {
  const { hash, name } = samlSignatureAlgorithm === 'sha512' ? sha512 : sha256; // SHA-1 is not offered
  const target = new URL(url);
  target.searchParams.set('SigAlg', name);
  const written = new URLSearchParams();
  for (const parameter of [...signedParameters, 'SigAlg']) {
    const value = target.searchParams.get(parameter);
    if (value !== null) written.append(parameter, value);
  }
  const signature = await signInThread(hash, Buffer.from(written.toString()), privateKey);
  target.searchParams.set('Signature', signature.toString('base64'));
  return target.href;
}
