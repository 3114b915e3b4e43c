import 'reflect-metadata';
import { loadConfig } from './config.js';
import { createAccountRetryByOperator } from './domain/account-intents/retry.js';
import { systemClock as now } from './platform/clock.js';
import { openDb } from './platform/database/open-db.js';
import { StartError } from './platform/start-error.js';
import { runProcess } from './run-process.js';

const command = {
  usage: 'npm run retry-account -- account-intent/01936d2f-5b1c-7e4a-9f3e-2b8c6d1a4e70',
  about: `Has an account created after all whose creation failed for good, with the names that its owner gave. A worker does it.
A short name that is taken is given up for one that the name gives.`,
  operands: ['the id of the creation, or of its process,'],
};

/**
 * `npm run retry-account -- <id>`: retries a failed creation of an account, which the mail about it says that support
 * can do (docs/operations.md). The process belongs to no Account, so the Portal cannot retry it.
 */
await runProcess('retry-account', command, async () => {
  const config = loadConfig('retry-account');
  const url = config.database.url as string;
  const db = await openDb({ url, poolSize: 1, applicationName: 'gatehouse retry-account', onError: () => {} });
  const retry = createAccountRetryByOperator({ db, now });
  const outcome = await retry(process.argv[2] as string).finally(() => db.close());
  if (outcome === 'not_found') throw new StartError('no creation of an account has this id');
  if (outcome === 'not_failed') throw new StartError('this one has not failed');
  process.stdout.write('a worker creates the account; the owner finds it at the next sign-in\n');
});
