import 'reflect-metadata';
import { loadConfig } from './config.js';
import { createMfaResetByOperator } from './domain/admin-mfa/reset.js';
import { systemClock as now } from './platform/clock.js';
import { openDb } from './platform/database/open-db.js';
import { StartError } from './platform/start-error.js';
import { runProcess } from './run-process.js';

const command = {
  usage: 'npm run reset-mfa -- ana@example.com',
  about: `Takes the second factors of an administrator away, and ends all of their sessions; a mail tells them.
Make sure that it is them who ask.`,
  operands: ['the address of the administrator'],
};

/**
 * `npm run reset-mfa -- ana@example.com`: removes the second factors of an administrator who has lost them, and whom
 * nobody in an Account may help (docs/administrators.md). Make sure of the person's identity first.
 */
await runProcess('reset-mfa', command, async () => {
  const config = loadConfig('reset-mfa');
  const email = process.argv[2] as string;
  const url = config.database.url as string;
  const db = await openDb({ url, poolSize: 1, applicationName: 'gatehouse reset-mfa', onError: () => {} });
  const isDone = await createMfaResetByOperator({ db, now })(email).finally(() => db.close());
  if (!isDone) throw new StartError('no administrator has this address');
  process.stdout.write('the second factors are gone, and all sessions have ended; a mail tells the person\n');
});
