import { Tables1763700000000 } from './1763700000000-tables.js';
import { RowLevelSecurity1763700000001 } from './1763700000001-row-level-security.js';
import { LookUpsByAddress1763700000002 } from './1763700000002-look-ups-by-address.js';
import { AccountIntentsAndPasswordLinks1763700000003 } from './1763700000003-account-intents-and-password-links.js';
import { Administrators1763700000004 } from './1763700000004-administrators.js';
import { GracesErasuresHousekeeping1763700000005 } from './1763700000005-graces-erasures-housekeeping.js';

/** In the order in which they run. */
export const migrations = [
  Tables1763700000000,
  RowLevelSecurity1763700000001,
  LookUpsByAddress1763700000002,
  AccountIntentsAndPasswordLinks1763700000003,
  Administrators1763700000004,
  GracesErasuresHousekeeping1763700000005,
];
