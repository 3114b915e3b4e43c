import 'reflect-metadata';
import { loadConfig } from './config.js';
import { runInstallation } from './dev/installation.js';
import { runProcess } from './run-process.js';

const command = {
  usage: 'npm start',
  about:
    'Runs the whole service on this machine, with what it needs embedded unless it is configured elsewhere, until Ctrl-C.',
};

/** `npm start`: the whole service on one machine; what it needs is embedded unless settings name another. */
await runProcess('start', command, () => runInstallation(loadConfig('dev'), { temporal: 'dev server', copies: 1 }));
