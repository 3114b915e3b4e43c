import { inALabels, longestTypedAddress } from '../../domain/logins/address.js';
import type { Parameters } from '../../domain/oidc/parameters.js';

/** The address that a form was sent with: without what was typed around it, its domain as every browser should have sent it; may be none at all, as of what is longer than any. */
export const typedEmail = (form: Pick<Parameters, 'get'>): string => {
  const typed = form.get('email')?.trim() ?? '';
  return typed.length > longestTypedAddress ? '' : inALabels(typed);
};
