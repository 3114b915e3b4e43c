import { isBounded } from '../../platform/mail/addresses.js';
import { toALabels } from '../addresses/a-labels.js';

/** Longer than any stored address, including those from before addresses had a limit. */
const maxAddressLength = 320;

/**
 * A typed address as it is looked up. What no Identity can have, or PostgreSQL cannot store, becomes the empty address,
 * which is nobody's: it is refused like any other, after the same work.
 */
export const addressTyped = (typed: string): string => (isAddress(typed) ? inALabels(typed) : '');

/**
 * An address with its domain in A-labels (RFC 5890 §2.3.2.1), as mail and nearly all browsers write it:
 * `ana@bücher.example` and `ana@xn--bcher-kva.example` are one mailbox, and so one person. Anything that is not an
 * address is left as it is.
 */
export function inALabels(address: string): string {
  const at = address.lastIndexOf('@');
  const domain = address.slice(at + 1);
  const labels = at === -1 || !/[^\p{ASCII}]/u.test(domain) ? null : toALabels(domain);
  return labels === null ? address : `${address.slice(0, at)}@${labels}`;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const isAddress = (email: string) => email.length <= maxAddressLength && !/[\x00-\x1f\x7f]/.test(email);

const form =
  /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*@(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/i;

/** Whether it has the form of a single mail address; also true of those from before addresses were bounded. */
export const hasMailForm = (text: string): boolean => text.length <= 254 && form.test(text);

/** Whether a text is an address that a new person may have: JSON Schema's `email` in our API, and in directories. */
export const isMailAddress = (text: string): boolean => hasMailForm(text) && isBounded(text);
