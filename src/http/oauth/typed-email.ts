import { inALabels } from '../../domain/logins/address.js';
import type { Parameters } from '../../domain/oidc/requests/parameters.js';

/** The email address in a form: trimmed, its domain in A-labels as browsers should have sent it; may be empty. */
export const typedEmail = (form: Pick<Parameters, 'get'>): string => inALabels(form.get('email')?.trim() ?? '');
