import { createRequire } from 'node:module';
import { isIP } from 'node:net';
import { domainToUnicode } from 'node:url';
import { parse } from 'tldts';
import { DomainError, type ErrorCode } from '../errors.js';

/** Public email providers that the list lacks. */
const alsoPublic = ['duck.com', 'fastmail.com', 'posteo.de', 'tuta.com', 'tuta.io', 'tutanota.com', 'tutanota.de'];
/** On the list, but of no provider: reserved for documentation and tests (RFC 2606 §3). */
const nobodys = ['example.com', 'example.net', 'example.org'];

let providers: Set<string> | undefined;
/** Returns the public email providers. Read at the first claim, since most processes handle none. */
const publicProviders = (): Set<string> => {
  if (providers) return providers;
  const listed: string[] = createRequire(import.meta.url)('email-providers/all.json');
  providers = new Set([...listed, ...alsoPublic]);
  for (const name of nobodys) providers.delete(name);
  return providers;
};

/** The maximum length of a DNS name, less the prefix that the record adds. */
const maxLength = 253 - '_svc-verification.'.length;
const label = /^(?!-)[a-z0-9-]{1,63}(?<!-)$/;
/** Whether an A-label is invalid (RFC 5890 §2.3.2.1): later versions of Node accept those in URLs, and keep them. */
const standsForNothing = (one: string): boolean => one.startsWith('xn--') && /^\p{ASCII}*$/u.test(domainToUnicode(one));

/**
 * Returns the domain in what somebody typed or pasted, a host or a URL with one: in A-labels (UTS #46) and lower case,
 * without a trailing dot and without `www.`.
 * @returns null if there is none
 */
export function domainIn(text: string): string | null {
  const pasted = text.trim();
  const address = /^[a-z][a-z0-9+.-]*:\/\//i.test(pasted) ? pasted.replace(/^[^:]+/, 'http') : `http://${pasted}`;
  if (pasted === '' || /[\s\p{Cc}]/u.test(pasted) || !URL.canParse(address)) return null;
  const { hostname, username, password } = new URL(address);
  if (username || password) return null; // an email address, or a URL made to look like another host
  const domain = hostname.replace(/\.$/, '').replace(/^(www\.)+(?=.+\.)/, '');
  if (isIP(domain) || domain.startsWith('[') || domain.length > maxLength) return null;
  const labels = domain.split('.');
  return labels.length > 1 && labels.every((one) => label.test(one) && !standsForNothing(one)) ? domain : null;
}

/**
 * Returns the domain that somebody wants to claim.
 * @throws DomainError sso_domain.malformed, sso_domain.public_suffix, sso_domain.public_provider
 */
export function claimableDomain(text: string): string {
  const domain = domainIn(text);
  if (!domain) throw refusal('sso_domain.malformed', 'is not a domain such as acme.com');
  // Registries and hosting providers give out names below a public suffix: nobody owns all of it.
  const { domain: registrable } = parse(domain, { allowPrivateDomains: true, validateHostname: false });
  if (!registrable) throw refusal('sso_domain.public_suffix', 'is a public suffix');
  if (publicProviders().has(domain) || publicProviders().has(registrable))
    throw refusal('sso_domain.public_provider', 'belongs to a public email provider');
  return domain;
}

const refusal = (code: ErrorCode, message: string) =>
  new DomainError(code, { details: [{ field: 'domain', code: code.slice(code.indexOf('.') + 1), message }] });
