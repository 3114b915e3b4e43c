import 'reflect-metadata';
import { loadConfig } from './config.js';
import { runInstallation } from './dev/installation.js';
import { runProcess } from './run-process.js';

/**
 * `npm run cluster`: what `npm start` is, made as in production: a Temporal server on PostgreSQL, two apis and two workers. Its
 * data is its own.
 */
await runProcess('cluster', () =>
  runInstallation(loadConfig('dev'), { temporal: 'on PostgreSQL', copies: 2, folder: 'cluster' }),
);
