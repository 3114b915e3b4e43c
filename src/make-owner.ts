import 'reflect-metadata';
import { loadConfig } from './config.js';
import { createOwnerByOperator } from './domain/accounts/make-owner.js';
import { systemClock as now } from './platform/clock.js';
import { openDb } from './platform/database/open-db.js';
import { StartError } from './platform/start-error.js';
import { runProcess } from './run-process.js';

const command = {
  usage: 'npm run make-owner -- acme ana@example.com',
  about: `Makes an administrator who has registered an Owner of an Account, if its Owners cannot; a mail tells every Owner.
Make sure that whoever asks may speak for the Account.`,
  operands: ['the slug of the Account', 'the address of the administrator'],
};

/**
 * `npm run make-owner -- acme ana@example.com`: gives an Account whose only Owner has left, or has lost their mailbox,
 * another one (docs/runbooks.md). Make sure first that whoever asks may speak for the Account.
 */
await runProcess('make-owner', command, async () => {
  const config = loadConfig('make-owner');
  const [slug, email] = process.argv.slice(2) as [string, string];
  const url = config.database.url as string;
  const db = await openDb({ url, poolSize: 1, applicationName: 'gatehouse make-owner', onError: () => {} });
  const outcome = await createOwnerByOperator({ db, now })(slug, email).finally(() => db.close());
  if (outcome === 'no_account') throw new StartError('no open account has this slug');
  if (outcome === 'no_user') throw new StartError('no administrator has this address: they register first');
  process.stdout.write(
    outcome === 'is_owner'
      ? 'they are an Owner of this account already\n'
      : 'they are an Owner of this account from their next request on; a mail tells every Owner\n',
  );
});
