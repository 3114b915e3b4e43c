import 'reflect-metadata';
import { loadConfig } from './config.js';
import { runInstallation } from './dev/installation.js';
import { runProcess } from './run-process.js';

const command = {
  usage: 'npm run cluster',
  about: 'Runs what npm start does as in production, two of each and Temporal on PostgreSQL, until Ctrl-C.',
};

/**
 * `npm run cluster`: like `npm start`, but built as in production: a Temporal server on PostgreSQL, two apis and two
 * workers. It has its own data.
 */
await runProcess('cluster', command, () =>
  runInstallation(loadConfig('dev'), { temporal: 'on PostgreSQL', copies: 2, folder: 'cluster' }),
);
