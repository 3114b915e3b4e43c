import 'reflect-metadata';
import { loadConfig } from './config.js';
import { neededKeys } from './domain/master-keys/needed.js';
import { reencrypt } from './domain/master-keys/reencrypt.js';
import { systemClock as now } from './platform/clock.js';
import { createSealing } from './platform/crypto/sealing.js';
import { openDb } from './platform/database/open-db.js';
import { runProcess } from './run-process.js';

const say = (line: string) => process.stdout.write(`${line}\n`);

const command = {
  usage: 'npm run reencrypt',
  about: `Encrypts with the first of MASTER_KEYS what the others sealed, and says what they are still needed for, and until when.
The service may be at work meanwhile. Harmless to repeat.`,
};

/**
 * `npm run reencrypt`: after a new master key was put first, encrypts with it what older ones have sealed, so that
 * those can be removed (contract §2). Values that live for minutes or days (stored answers, links) expire by
 * themselves: it only prints which older keys they still need.
 */
await runProcess('reencrypt', command, async () => {
  const { database, masterKeys } = loadConfig('reencrypt');
  const current = masterKeys[0]?.id as string;
  const url = database.url as string;
  const db = await openDb({ url, poolSize: 1, applicationName: 'gatehouse reencrypt', onError: () => {} });
  const counts = await reencrypt({ db, sealing: createSealing(masterKeys), now });
  say(`encrypted with ${current}: ${counts.map(([what, count]) => `${count} ${what}`).join(', ')}`);
  const needed = await neededKeys({ db, now }, current);
  await db.close();
  for (const { keyId, what, count, until } of needed) {
    say(`${keyId} is needed until ${until.toISOString()} for ${count} ${what}`);
  }
  if (needed.length === 0) say(`nothing in the database needs another key than ${current}`);
});
