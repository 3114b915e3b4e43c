import { inALabels } from '../../domain/logins/address.js';
import type { Parameters } from '../../domain/oidc/parameters.js';

/** The address that a form was sent with: without what was typed around it, its domain as every browser should have sent it; may be none at all. */
export const typedEmail = (form: Pick<Parameters, 'get'>): string => inALabels(form.get('email')?.trim() ?? '');
