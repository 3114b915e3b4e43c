import { toALabels } from '../addresses/a-labels.js';
import { hasMailForm } from '../logins/address.js';

/**
 * The address that a provider names, in the form that people have here: a single address, with its domain in A-labels.
 * Null for anything else, such as a list: a provider speaks for its domain, and "a@elsewhere.example, b@acme.example"
 * ends in it, too.
 */
export function assertedAddress(said: string | null): string | null {
  const text = said?.trim() ?? '';
  const at = text.lastIndexOf('@');
  const domain = toALabels(text.slice(at + 1));
  if (at === -1 || domain === null) return null;
  const address = `${text.slice(0, at)}@${domain}`;
  return hasMailForm(address) ? address : null;
}
