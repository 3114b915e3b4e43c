import { createRequire } from 'node:module';
import { isIP } from 'node:net';
import { domainToUnicode } from 'node:url';
import { parse } from 'tldts';
import { DomainError, type ErrorCode } from '../errors.js';

/** Kept by hand beside the list, which knows many more. */
const alsoPublic = ['duck.com', 'fastmail.com', 'posteo.de', 'tuta.com', 'tuta.io', 'tutanota.com', 'tutanota.de'];
/** On the list, and nobody's: for documents and tests (RFC 2606 §3). */
const nobodys = ['example.com', 'example.net', 'example.org'];

let providers: Set<string> | undefined;
/** Read with the first claim: most processes see none. */
const publicProviders = (): Set<string> => {
  if (providers) return providers;
  const listed: string[] = createRequire(import.meta.url)('email-providers/all.json');
  providers = new Set([...listed, ...alsoPublic]);
  for (const name of nobodys) providers.delete(name);
  return providers;
};

/** As long as a name can be in DNS, less what the place of the record adds to it. */
const longest = 253 - '_svc-verification.'.length;
const label = /^(?!-)[a-z0-9-]{1,63}(?<!-)$/;
/** Later versions of Node's URLs take A-labels that stand for nothing (RFC 5890 §2.3.2.1), and leave them as they are. */
const standsForNothing = (one: string): boolean => one.startsWith('xn--') && /^\p{ASCII}*$/u.test(domainToUnicode(one));

/**
 * The domain in what somebody has typed or pasted: a host, or a URL with one. In A-labels (UTS #46) and lower case, without a
 * dot at its end and without `www.`.
 * @returns null where there is none
 */
export function domainIn(text: string): string | null {
  const pasted = text.trim();
  const address = /^[a-z][a-z0-9+.-]*:\/\//i.test(pasted) ? pasted.replace(/^[^:]+/, 'http') : `http://${pasted}`;
  if (pasted === '' || /[\s\p{Cc}]/u.test(pasted) || !URL.canParse(address)) return null;
  const { hostname, username, password } = new URL(address);
  if (username || password) return null; // a mail address, or something that is to look like another host
  const domain = hostname.replace(/\.$/, '').replace(/^(www\.)+(?=.+\.)/, '');
  if (isIP(domain) || domain.startsWith('[') || domain.length > longest) return null;
  const labels = domain.split('.');
  return labels.length > 1 && labels.every((one) => label.test(one) && !standsForNothing(one)) ? domain : null;
}

/**
 * The domain that somebody claims.
 * @throws DomainError sso_domain.malformed, sso_domain.public_suffix, sso_domain.public_provider
 */
export function claimableDomain(text: string): string {
  const domain = domainIn(text);
  if (!domain) throw refusal('sso_domain.malformed', 'is not a domain such as acme.com');
  // What registries and hosters hand out names below: nobody owns all of it.
  const { domain: registrable } = parse(domain, { allowPrivateDomains: true, validateHostname: false });
  if (!registrable) throw refusal('sso_domain.public_suffix', 'is a public suffix');
  if (publicProviders().has(domain) || publicProviders().has(registrable))
    throw refusal('sso_domain.public_provider', 'belongs to a public email provider');
  return domain;
}

const refusal = (code: ErrorCode, message: string) =>
  new DomainError(code, { details: [{ field: 'domain', code: code.slice(code.indexOf('.') + 1), message }] });
