import { randomBytes, randomUUID } from 'node:crypto';
import type { EnvironmentScope } from '../../src/platform/scope.js';
import { rowsAsOwner, type TestDatabase } from './database.js';

/** Inserts a session of a person in which a client was granted something. Returns its id. */
export async function grantedSession(
  { ownerUrl }: Pick<TestDatabase, 'ownerUrl'>,
  { accountId, environmentId }: EnvironmentScope,
  { identityId, oauthClientId }: { identityId: string; oauthClientId: string },
): Promise<string> {
  const id = randomUUID();
  await rowsAsOwner(
    ownerUrl,
    `with session as (
       insert into sessions (id, account_id, environment_id, identity_id, browser_hash, authenticated_at, amr, acr, created_at, expires_at)
       values ($1, $2, $3, $4, $5, now(), '{pwd}', 'urn:gatehouse:aal1', now(), now() + interval '1 hour') returning *
     )
     insert into grants (id, account_id, environment_id, oauth_client_id, identity_id, session_id, scope, authenticated_at, amr, acr,
       created_at, expires_at)
     select gen_random_uuid(), account_id, environment_id, $6, identity_id, id, '{openid}', now(), amr, acr, now(), expires_at from session`,
    [id, accountId, environmentId, identityId, randomBytes(32), oauthClientId],
  );
  return id;
}
