import 'reflect-metadata';
import { loadConfig } from './config.js';
import { runInstallation } from './dev/installation.js';
import { runProcess } from './run-process.js';

/** `npm start`: the whole service on one machine, with what it needs embedded unless it is configured elsewhere. */
await runProcess('start', () => runInstallation(loadConfig('dev'), { temporal: 'dev server', copies: 1 }));
