import { pino } from 'pino';
import { composeApi } from './compose.js';
import { loadConfig } from './config.js';
import { createDb } from './platform/database/open-db.js';

/** Returns the OpenAPI document of the api's usual surfaces; needs no database, Temporal server or settings. */
export async function openApiDocument(): Promise<object> {
  const nowhere = '127.0.0.1:1';
  const url = `postgres://${nowhere}/none`;
  const config = loadConfig('api', {
    NODE_ENV: 'test',
    BASE_URL: 'http://localhost:3000',
    DATABASE_URL: url,
    TEMPORAL_ADDRESS: nowhere,
    MASTER_KEYS: `none:${Buffer.alloc(32).toString('base64')}`,
  });
  const db = createDb({ url, poolSize: 1, applicationName: 'document', onError: () => {} });
  const { app, close } = await composeApi(config, db, pino({ level: 'silent' }));
  try {
    return app.swagger();
  } finally {
    await app.close();
    await Promise.all([close(), db.close()]);
  }
}
