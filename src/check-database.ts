import type pg from 'pg';
import type { Logger } from 'pino';
import type { Config } from './config.js';
import { noteMasterKey, wrongMasterKeys } from './domain/master-keys/required.js';
import { createSigningKeys } from './domain/oidc/keys.js';
import { systemClock } from './platform/clock.js';
import { createSealing } from './platform/crypto/sealing.js';
import type { Db } from './platform/database/db.js';
import { hasSchema, pendingMigrations } from './platform/database/migrations.js';
import { hasSessionPooling } from './platform/database/session-pooling.js';
import { changedCollation } from './platform/database/usable-database.js';
import { StartError } from './platform/start-error.js';

type OfDatabase = Pick<Config, 'masterKeys' | 'baseUrl' | 'signingKeyBits'>;

/**
 * Checks that this version can work on the database, with this role and these master keys. The very first start creates
 * the first signing key, so that every other start, even one at the same time, must have the same master keys.
 * @throws StartError with what is wrong
 */
export async function checkDatabase(db: Db, { masterKeys, baseUrl, signingKeyBits }: OfDatabase): Promise<void> {
  await assertSessions(db);
  const pending = await pendingMigrations(db.source);
  if (pending.length > 0 && !(await hasSchema(db.source))) throw new StartError(await unseenSchema(db));
  if (pending.length > 0) throw new StartError(`the schema is old (${pending.join(', ')}): run npm run migrate`);
  const [role] = await db.source.query<{ user: string; bound: boolean }[]>(roleText);
  if (!role?.bound) {
    throw new StartError(
      `DATABASE_URL names ${role?.user}, which row-level security does not bind: use a role that is no superuser and owns nothing`,
    );
  }
  const deps = { db, sealing: createSealing(masterKeys), now: systemClock };
  const keys = createSigningKeys({ ...deps, issuer: baseUrl, keyBits: signingKeyBits });
  await assertMasterKeys(deps);
  await keys.jwks();
  await assertMasterKeys(deps); // one of several simultaneous starts has created the key
  await noteMasterKey(deps);
  await assertMasterKeys(deps);
}

/** Returns the error for a missing schema, which may only be invisible for this role, but not for that of `migrate`. */
async function unseenSchema({ source }: Pick<Db, 'source'>): Promise<string> {
  const [here] = await source.query<Record<'database' | 'user' | 'path', string>[]>(
    `select current_database() as database, current_user as "user", current_setting('search_path') as path`,
  );
  return `there is no schema in the database ${here?.database} that ${here?.user} finds (search_path ${here?.path}): run npm run migrate, unless DATABASE_URL names another database, or the role has a search_path without public`;
}

/** Warns if the collation has changed, which operators have to deal with, although the process can start. */
export async function warnOfCollation({ source }: Pick<Db, 'source'>, log: Pick<Logger, 'warn'>): Promise<void> {
  const reason = await changedCollation(source);
  if (reason) log.warn({ reason }, 'indexes of texts may be out of order');
}

async function assertMasterKeys(deps: Parameters<typeof wrongMasterKeys>[0]): Promise<void> {
  const reason = await wrongMasterKeys(deps);
  if (reason) throw new StartError(reason);
}

/** Compares one connection of each pool, since a pool may have only one. */
async function assertSessions({ pool, source }: Db): Promise<void> {
  const [one, other] = [await pool.connect(), source.createQueryRunner()];
  try {
    const transactions = (await other.connect()) as pg.PoolClient;
    if (await hasSessionPooling(one, transactions)) return;
    throw new StartError(
      'PostgreSQL is behind a pooler in transaction mode: use its session mode, or connect directly',
    );
  } finally {
    one.release();
    await other.release();
  }
}

/** Owners of a table, superusers and roles with BYPASSRLS see every tenant's rows. */
const roleText = `select current_user as "user", row_security_active('accounts') as bound`;
