import { domainToASCII } from 'node:url';

/** The greatest length of a domain, in octets as DNS carries it (RFC 1035 §2.3.4), and so in letters of any script. */
const longestDomain = 255;

/**
 * A domain in A-labels (RFC 5890 §2.3.2.1) and lower case; null for anything else. Node's function parses a URL's host
 * and ignores what comes after it. Its time grows with the square of the length, and nobody else is answered meanwhile.
 */
export const toALabels = (domain: string): string | null =>
  (domain.length <= longestDomain && /^[\p{L}\p{M}\p{N}.-]+$/u.test(domain) && domainToASCII(domain)) || null;
