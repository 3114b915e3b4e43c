import 'reflect-metadata';
import { loadConfig } from './config.js';
import { resealUserFactors } from './domain/admin-mfa/reseal.js';
import { resealFactors } from './domain/mfa/reseal.js';
import { createSigningKeys } from './domain/oidc/keys.js';
import { resealConnections } from './domain/sso-connections/reseal.js';
import { createSsoSigningKeys } from './domain/sso-protocols/signing-keys.js';
import { resealProviderSessions } from './domain/sso-sign-in/provider-sessions.js';
import { resealWebhooks } from './domain/webhooks/reseal.js';
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
  const sealing = createSealing(config.masterKeys);
  const keys = await createSigningKeys({ db, sealing, issuer: config.baseUrl, now }).reseal();
  const ssoKeys = await createSsoSigningKeys({ db, sealing, now }).reseal();
  const clientSecrets = await resealConnections({ db, sealing });
  const ssoSessions = await resealProviderSessions({ db, sealing });
  const factors = (await resealFactors({ db, sealing })) + (await resealUserFactors({ db, sealing }));
  const webhooks = await resealWebhooks({ db, sealing });
  await db.close();
  process.stdout.write(
    `${keys} signing keys, ${ssoKeys} keys and ${clientSecrets} client secrets of SSO connections, ${ssoSessions} sessions at their providers, ${factors} authenticator secrets and ${webhooks} webhook secrets encrypted with ${config.masterKeys[0]?.id}\n`,
  );
});
