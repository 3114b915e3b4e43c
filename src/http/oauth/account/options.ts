import type { HostedOptions } from '../options.js';
import type { AccountVisits } from './visit.js';

/** What the account pages are given. */
export interface AccountOptions extends HostedOptions {
  visits: AccountVisits;
}
