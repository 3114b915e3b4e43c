import { type Clock, minutes } from '../../platform/clock.js';
import { equalInConstantTime, hashSecret } from '../../platform/crypto/one-time-secret.js';
import type { Db } from '../../platform/db.js';
import { parseApiKey } from './format.js';

export interface AuthenticatedApiKey {
  id: string;
  accountId: string;
  applicationId: string;
  environmentId: string;
  accessMode: 'full' | 'scoped';
  scopes: string[];
}

export interface ApiKeys {
  /** The key's place and rights, proved from the database at every call, so that switching it off counts at once. */
  authenticate(key: string): Promise<AuthenticatedApiKey | null>;
}

const findStatement = {
  name: 'find_api_key',
  text: `select id, account_id, application_id, environment_id, access_mode, scopes, secret_hash, last_used_at
from api_keys where client_id = $1 and is_active and (expires_at is null or expires_at > $2)`,
};
const touchStatement = { name: 'touch_api_key', text: 'update api_keys set last_used_at = $2 where id = $1' };

interface Row {
  id: string;
  account_id: string;
  application_id: string;
  environment_id: string;
  access_mode: 'full' | 'scoped';
  scopes: string[];
  secret_hash: Buffer;
  last_used_at: Date | null;
}

export function createApiKeyAuthentication({ db, now }: { db: Db; now: Clock }): ApiKeys {
  return {
    async authenticate(key) {
      const parts = parseApiKey(key);
      if (!parts) return null;
      const at = now();
      const [row] = await db.statement<Row>(findStatement, [parts.clientId, at]);
      if (!row || !equalInConstantTime(row.secret_hash, hashSecret(parts.secret))) return null;
      // At most once a minute (contract §2), so that a busy key does not write at every call.
      if (!row.last_used_at || at.getTime() - row.last_used_at.getTime() > minutes(1)) {
        await db.statement(touchStatement, [row.id, at]);
      }
      return {
        id: row.id,
        accountId: row.account_id,
        applicationId: row.application_id,
        environmentId: row.environment_id,
        accessMode: row.access_mode,
        scopes: row.scopes,
      };
    },
  };
}
