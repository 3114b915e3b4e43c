import type { HostedOptions } from '../options.js';
import type { AccountVisits } from './visit.js';

/** The dependencies of the account pages. */
export interface AccountOptions extends HostedOptions {
  visits: AccountVisits;
}
