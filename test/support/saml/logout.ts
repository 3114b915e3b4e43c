import { createSign, randomUUID } from 'node:crypto';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { type ProviderKey, rsaSha256 } from './provider.js';

/** Returns a query as the HTTP-Redirect binding encodes and signs it (SAML 2.0 Bindings §3.4.4.1). */
export function signedQuery(
  field: 'SAMLRequest' | 'SAMLResponse',
  xml: string,
  { privateKey }: Pick<ProviderKey, 'privateKey'>,
  { sigAlg = rsaSha256, relayState = 'a b/c' }: { sigAlg?: string; relayState?: string } = {},
): string {
  const written = [
    `${field}=${encodeURIComponent(deflateRawSync(xml).toString('base64'))}`,
    `RelayState=${encodeURIComponent(relayState)}`,
    `SigAlg=${encodeURIComponent(sigAlg)}`,
  ].join('&');
  const signature = createSign('RSA-SHA256').update(written).sign(privateKey, 'base64');
  return `${written}&Signature=${encodeURIComponent(signature)}`;
}

const declared =
  'xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"';

/** Returns the LogoutRequest of a provider for a person whose session it has ended. */
export function logoutRequestXml(parts: {
  issuer: string;
  destination: string;
  issueInstant: Date;
  notOnOrAfter?: Date | null;
  id?: string;
  content: string;
}): string {
  const { issuer, destination, issueInstant, notOnOrAfter = null, id = `_${randomUUID()}`, content } = parts;
  const until = notOnOrAfter ? ` NotOnOrAfter="${notOnOrAfter.toISOString()}"` : '';
  return `<samlp:LogoutRequest ${declared} ID="${id}" Version="2.0" IssueInstant="${issueInstant.toISOString()}" Destination="${destination}"${until}><saml:Issuer>${issuer}</saml:Issuer>${content}</samlp:LogoutRequest>`;
}

export const success = 'urn:oasis:names:tc:SAML:2.0:status:Success';

/** Returns a provider's answer to our LogoutRequest. */
export function logoutResponseXml(parts: {
  issuer: string;
  destination: string;
  inResponseTo: string;
  issueInstant: Date;
  status?: string;
}): string {
  const { issuer, destination, inResponseTo, issueInstant, status = success } = parts;
  return `<samlp:LogoutResponse ${declared} ID="_${randomUUID()}" Version="2.0" IssueInstant="${issueInstant.toISOString()}" Destination="${destination}" InResponseTo="${inResponseTo}"><saml:Issuer>${issuer}</saml:Issuer><samlp:Status><samlp:StatusCode Value="${status}"/></samlp:Status></samlp:LogoutResponse>`;
}

/** Returns where a page of ours redirects by itself: to a provider, after a sign-out here. */
export const goingOnTo = ({ body }: { body: string }): string =>
  /http-equiv="refresh" content="0;url=([^"]+)"/.exec(body)?.[1]?.replaceAll('&amp;', '&') ?? '';

/** Returns our LogoutRequest from the URL that takes a browser to the provider. */
export function leavingIn(url: string) {
  const { origin, pathname, searchParams } = new URL(url);
  const xml = inflateRawSync(Buffer.from(searchParams.get('SAMLRequest') ?? '', 'base64')).toString();
  return {
    at: `${origin}${pathname}`,
    xml,
    id: /ID="([^"]+)"/.exec(xml)?.[1] ?? '',
    nameId: /<saml:NameID[^>]*>([^<]+)</.exec(xml)?.[1],
    sessionIndex: /SessionIndex[^>]*>([^<]+)</.exec(xml)?.[1],
    relayState: searchParams.get('RelayState') ?? '',
  };
}
