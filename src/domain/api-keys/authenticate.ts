import { type Clock, minutes } from '../../platform/clock.js';
import { hashSecret } from '../../platform/crypto/one-time-secret.js';
import type { Db } from '../../platform/database/db.js';
import { createCredentialCache } from '../cached-credentials.js';
import { environmentExists } from '../existing-environment.js';
import { isSecretNow, type RotatedSecret } from '../one-time/rotated-secrets.js';
import { parseApiKey } from './format.js';

export interface AuthenticatedApiKey {
  id: string;
  name: string;
  accountId: string;
  applicationId: string;
  environmentId: string;
  accessMode: 'full' | 'scoped';
  scopes: string[];
}

export interface ApiKeys {
  /**
   * Returns the key's place and rights, as the database had them at most a second ago: a revoked key stops working
   * everywhere.
   */
  authenticate(key: string): Promise<AuthenticatedApiKey | null>;
  /** Clears the cache because keys were changed. */
  forget(): void;
}

const findStatement = {
  name: 'find_api_key',
  text: `select id, name, account_id, application_id, environment_id, access_mode, scopes, last_used_at, expires_at,
  secret_hash as "secretHash", previous_secret_hash as "previousSecretHash", previous_secret_expires_at as "previousSecretExpiresAt"
from api_keys k where client_id = $1 and is_active and ${environmentExists('k')}`,
};
const touchStatement = { name: 'touch_api_key', text: 'update api_keys set last_used_at = $2 where id = $1' };

interface Row extends RotatedSecret {
  id: string;
  name: string;
  account_id: string;
  application_id: string;
  environment_id: string;
  access_mode: 'full' | 'scoped';
  scopes: string[];
  last_used_at: Date | null;
  expires_at: Date | null;
}

export function createApiKeyAuthentication({ db, now }: { db: Db; now: Clock }): ApiKeys {
  const read = async (clientId: string) => (await db.statement<Row>(findStatement, [clientId]))[0] ?? null;
  const keys = createCredentialCache(read, now);

  return {
    async authenticate(key) {
      const parts = parseApiKey(key);
      if (!parts) return null;
      const at = now();
      const hash = hashSecret(parts.secret);
      let row = await keys.find(parts.clientId);
      if (row && !matches(row, hash, at)) {
        // A secret that is newer than the cached row must work from its first use.
        row = await keys.findAnew(parts.clientId);
      }
      if (!row || !matches(row, hash, at)) return null;
      // At most once a minute (contract §2), so that a busy key does not cause a write at every call.
      if (!row.last_used_at || at.getTime() - row.last_used_at.getTime() > minutes(1)) {
        row.last_used_at = at;
        await db.statement(touchStatement, [row.id, at]);
      }
      return {
        id: row.id,
        name: row.name,
        accountId: row.account_id,
        applicationId: row.application_id,
        environmentId: row.environment_id,
        accessMode: row.access_mode,
        scopes: row.scopes,
      };
    },
    forget: keys.clear,
  };
}

/** Whether the hash is of a secret of the key, which has not expired. */
function matches(row: Row, hash: Buffer, at: Date): boolean {
  if (row.expires_at !== null && row.expires_at <= at) return false;
  return isSecretNow(row, hash, at);
}
