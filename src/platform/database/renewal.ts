import { minutes } from '../clock.js';

/** How long a connection to PostgreSQL is kept: after a failover this bounds how long one may still lead to the former primary. */
export const renewConnectionsAfterMs = minutes(5);
