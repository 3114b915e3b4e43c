import { minutes } from '../clock.js';

/** For how long a connection to PostgreSQL is used, which is for how long one may lead to what was the primary. */
export const renewConnectionsAfterMs = minutes(5);
