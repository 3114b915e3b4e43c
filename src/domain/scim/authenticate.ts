import { type Clock, minutes } from '../../platform/clock.js';
import { hashSecret } from '../../platform/crypto/one-time-secret.js';
import type { Db } from '../../platform/database/db.js';
import { environmentExists } from '../existing-environment.js';
import { type Directory, directoryOf } from './directory.js';
import { isScimToken } from './tokens.js';

export interface AuthenticatedDirectory extends Directory {
  tokenId: string;
  tokenName: string;
}

const findStatement = {
  name: 'find_scim_token',
  text: `select id, name, account_id, application_id, environment_id, organization_id, last_used_at
from scim_tokens t where token_hash = $1 and (expires_at is null or expires_at > $2) and ${environmentExists('t')}`,
};
const touchStatement = { name: 'touch_scim_token', text: 'update scim_tokens set last_used_at = $2 where id = $1' };

interface Row {
  id: string;
  name: string;
  account_id: string;
  application_id: string;
  environment_id: string;
  organization_id: string | null;
  last_used_at: Date | null;
}

/**
 * The directory of a token, looked up at every request: nothing is cached, so that a revoked token is refused at once
 * everywhere. Null for anything that is not a valid token.
 */
export function createScimAuthentication({ db, now }: { db: Pick<Db, 'statement'>; now: Clock }) {
  return async (token: string): Promise<AuthenticatedDirectory | null> => {
    if (!isScimToken(token)) return null;
    const at = now();
    const [row] = await db.statement<Row>(findStatement, [hashSecret(token), at]);
    if (!row) return null;
    // At most once a minute, as with API keys (contract §2).
    if (!row.last_used_at || at.getTime() - row.last_used_at.getTime() > minutes(1))
      await db.statement(touchStatement, [row.id, at]);
    const { account_id: accountId, application_id: applicationId, environment_id: environmentId } = row;
    const directory = directoryOf({ accountId, applicationId, environmentId }, row.organization_id);
    return { ...directory, tokenId: row.id, tokenName: row.name };
  };
}

export type ScimAuthentication = ReturnType<typeof createScimAuthentication>;
