import { Tables1763700000000 } from './1763700000000-tables.js';
import { RowLevelSecurity1763700000001 } from './1763700000001-row-level-security.js';

/** In the order in which they run. */
export const migrations = [Tables1763700000000, RowLevelSecurity1763700000001];
