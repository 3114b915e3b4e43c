import 'reflect-metadata';
import { loadConfig } from './config.js';
import { createSigningKeys } from './domain/oidc/keys.js';
import { systemClock as now } from './platform/clock.js';
import { createSealing } from './platform/crypto/sealing.js';
import { openDb } from './platform/db.js';
import { runProcess } from './platform/process.js';

/**
 * `npm run reencrypt`: after a new master key was put in front, encrypts with it what older ones sealed, so that those can
 * be taken away (contract §2). What seals for minutes or a day (kept answers, selections) runs out by itself.
 */
await runProcess('reencrypt', async () => {
  const config = loadConfig('reencrypt');
  const url = config.database.url as string;
  const db = await openDb({ url, poolSize: 1, applicationName: 'gatehouse reencrypt', onError: () => {} });
  const keys = createSigningKeys({ db, sealing: createSealing(config.masterKeys), issuer: config.baseUrl, now });
  const count = await keys.reseal();
  await db.close();
  process.stdout.write(`${count} signing keys encrypted with ${config.masterKeys[0]?.id}\n`);
});
