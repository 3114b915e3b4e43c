import { domainToASCII } from 'node:url';

/** The greatest length of a domain, in octets in DNS (RFC 1035 §2.3.4), and so also in letters of any script. */
const maxDomainLength = 255;

/**
 * Returns a domain in A-labels (RFC 5890 §2.3.2.1) and lower case; null for anything else. Node's function parses the
 * host of a URL and ignores what follows. Its time grows with the square of the length, and it blocks the process.
 */
export const toALabels = (domain: string): string | null =>
  (domain.length <= maxDomainLength && /^[\p{L}\p{M}\p{N}.-]+$/u.test(domain) && domainToASCII(domain)) || null;
