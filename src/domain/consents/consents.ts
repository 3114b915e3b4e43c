import type { EntityManager } from 'typeorm';
import type { Clock } from '../../platform/clock.js';
import type { Actor } from '../../platform/context.js';
import type { Db } from '../../platform/database/db.js';
import { type EnvironmentScope, environmentScopeOf } from '../../platform/scope.js';
import { DomainError } from '../errors.js';
import { recordEvent } from '../events/record.js';

/** The OAuth client, by the id of its row. */
type OfClient = EnvironmentScope & { id: string };

export interface Consents {
  /** Whether the person has consented to every value of the client's scope. An empty scope needs a consent, too. */
  cover(client: OfClient, identityId: string, scope: readonly string[]): Promise<boolean>;
  /**
   * Adds a scope to the person's consent.
   * @throws DomainError auth.invalid_credentials if their membership has ended
   */
  grant(client: OfClient, identityId: string, scope: readonly string[]): Promise<void>;
}

/**
 * Waits for a concurrent withdrawal (`withdrawConsent`), which ends everything that was issued before it; a later
 * request finds no consent. `offset 0` makes PostgreSQL find the row by its key, whatever the planner's statistics say.
 */
const findStatement = {
  name: 'find_consent',
  text: `
select scope from (select * from consents where identity_id = $1 and oauth_client_id = $2 offset 0 for key share) c
where account_id = $3 and environment_id = $4`,
};

/** Inserts only while the membership exists, and locks it, so that no consent outlives it. */
const grantText = `
insert into consents as kept (identity_id, oauth_client_id, account_id, environment_id, scope, created_at, updated_at)
select identity_id, $2, account_id, environment_id, $5::text[], $6::timestamptz, $6
from environment_memberships where identity_id = $1 and account_id = $3 and environment_id = $4 for key share
on conflict (identity_id, oauth_client_id) do update
  set scope = array(select unnest(kept.scope) union select unnest(excluded.scope)), updated_at = excluded.updated_at
returning 1`;

/** The consents of people to clients that have to ask them (`consent_required`; OpenID Connect Core 3.1.2.4). */
export function createConsents({ db, now }: { db: Db; now: Clock }): Consents {
  return {
    async cover({ id, accountId, environmentId }, identityId, scope) {
      const values = [identityId, id, accountId, environmentId];
      const [found] = await db.statement<{ scope: string[] }>(findStatement, values);
      return found !== undefined && scope.every((name) => found.scope.includes(name));
    },

    async grant(client, identityId, scope) {
      const { id, accountId, environmentId } = client;
      const place = environmentScopeOf(client);
      await db.transaction(place, async (tx) => {
        const values = [identityId, id, accountId, environmentId, scope, now()];
        const given = await tx.query<unknown[]>(grantText, values);
        if (given.length === 0) throw new DomainError('auth.invalid_credentials');
        await recordEvent(tx, 'identity.consent_given', {
          ...place,
          resourceId: identityId,
          actor: { type: 'identity', id: identityId },
          metadata: { oauth_client_id: id, scopes: scope },
        });
      });
    },
  };
}

/**
 * Withdraws a consent, before the caller's transaction ends what was issued on it.
 * @returns whether there was one
 */
export async function withdrawConsent(
  tx: EntityManager,
  { accountId, applicationId, environmentId }: EnvironmentScope,
  identityId: string,
  { oauthClientId, by }: { oauthClientId: string; by: Actor },
): Promise<boolean> {
  const [[taken]] = await tx.query<[{ scope: string[] }[], number]>(
    `delete from consents where account_id = $1 and environment_id = $2 and identity_id = $3 and oauth_client_id = $4
     returning scope`,
    [accountId, environmentId, identityId, oauthClientId],
  );
  if (!taken) return false;
  await recordEvent(tx, 'identity.consent_withdrawn', {
    accountId,
    applicationId,
    environmentId,
    resourceId: identityId,
    actor: by,
    metadata: { oauth_client_id: oauthClientId, scopes: taken.scope },
  });
  return true;
}
