import type { Scim } from '../../domain/scim/scim.js';
import type { RateLimits } from '../surfaces/rate-limits.js';

export interface ScimOptions extends Scim {
  limits: Pick<RateLimits, 'general'>;
  /** The base URL of the service, without `/scim/v2`. */
  baseUrl: string;
}
