import { minutes } from '../clock.js';

/** How long a connection to PostgreSQL is kept: the longest that it may lead to the old primary after a failover. */
export const renewConnectionsAfterMs = minutes(5);
