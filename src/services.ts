import type { Db } from './platform/db.js';

/** What handlers, activities and tests are given; `compose.ts` builds it. */
export interface Services {
  db: Db;
}
