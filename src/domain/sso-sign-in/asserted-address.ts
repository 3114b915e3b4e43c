import { hasMailForm, inALabels } from '../logins/address.js';

/**
 * The address that a provider says, as somebody here can have it: one address, its domain in A-labels. Null for what is none,
 * such as a list of them: a provider speaks for its domain, and "a@elsewhere.example, b@acme.example" ends in it, too.
 */
export function assertedAddress(said: string | null): string | null {
  const address = inALabels(said?.trim() ?? '');
  return hasMailForm(address) ? address : null;
}
