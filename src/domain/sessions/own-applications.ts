import type { EntityManager } from 'typeorm';
import { OAuthClient } from '../../../entities/oauth-client.js';
import type { Clock } from '../../platform/clock.js';
import type { Actor } from '../../platform/context.js';
import { type Db, within } from '../../platform/database/db.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { withdrawConsent } from '../consents/consents.js';
import { DomainError } from '../errors.js';
import { recordEvent } from '../events/record.js';
import { livingGrant } from './living-grant.js';

/** An application with valid tokens of a person, or with their consent. */
export interface OwnApplication {
  /** Of the OAuth client. */
  id: string;
  clientId: string;
  name: string;
  redirectUris: string[];
  since: Date;
  /** What the person has consented to; null if nobody asked. */
  scopes: string[] | null;
  /** How many applications there are, including those beyond `max`. */
  total: number;
}

export interface OwnApplications {
  /** Latest first. @param max how many are returned; by default all */
  list(scope: EnvironmentScope, identityId: string, max?: number): Promise<OwnApplication[]>;
  /**
   * Ends everything that the application was given, in every browser, and withdraws the consent.
   * @throws DomainError application.not_found
   */
  revoke(scope: EnvironmentScope, identityId: string, id: string): Promise<void>;
}

const listStatement = {
  name: 'own_applications',
  text: `
select c.id, c.client_id as "clientId", c.name, c.redirect_uris as "redirectUris", min(given.created_at) as since,
  max(given.scopes) as scopes, count(*) over ()::int as total
from (
    select oauth_client_id, created_at, null::text[] as scopes from grants g
    where g.account_id = $1 and g.environment_id = $2 and g.identity_id = $3 and ${livingGrant('$4')}
      and (select revoked_at from sessions where id = g.session_id) is null
    union all
    select oauth_client_id, created_at, scope from (select * from consents where identity_id = $3 offset 0) allowed
    where account_id = $1 and environment_id = $2
  ) given
  join oauth_clients c on c.id = given.oauth_client_id
group by c.id
order by max(given.created_at) desc, c.id limit $5`,
};

/** The applications of an Environment that act for a person, and how that ends. */
export function createOwnApplications({ db, now }: { db: Db; now: Clock }): OwnApplications {
  return {
    list: ({ accountId, environmentId }, identityId, max) =>
      db.statement<OwnApplication>(listStatement, [accountId, environmentId, identityId, now(), max ?? null]),

    revoke: (scope, identityId, id) =>
      db.transaction(scope, (tx) => {
        const by = { type: 'identity', id: identityId } as const;
        return endApplicationAccess(tx, scope, identityId, {
          oauthClientId: id,
          reason: 'revoked_by_person',
          at: now(),
          by,
        });
      }),
  };
}

/**
 * Ends what an application was granted for an Identity, and withdraws the consent: in the caller's transaction, in the
 * Environment of `scope`.
 * @param by the actor
 * @throws DomainError application.not_found
 */
export async function endApplicationAccess(
  tx: EntityManager,
  scope: EnvironmentScope,
  identityId: string,
  { oauthClientId, reason, at, by }: { oauthClientId: string; reason: string; at: Date; by: Actor },
): Promise<void> {
  // A deleted application's grants are being removed already, and nobody else's to end.
  if (!(await tx.existsBy(OAuthClient, { ...within(scope), id: oauthClientId }))) {
    throw new DomainError('application.not_found');
  }
  const hadConsent = await withdrawConsent(tx, scope, identityId, { oauthClientId, by });
  const [grants] = await tx.query<[{ id: string }[], number]>(
    `update grants set revoked_at = $5, revoked_reason = $6
     where account_id = $1 and environment_id = $2 and identity_id = $3 and oauth_client_id = $4
       and revoked_at is null and expires_at > $5
     returning id`,
    [scope.accountId, scope.environmentId, identityId, oauthClientId, at, reason],
  );
  if (grants.length === 0 && !hadConsent) throw new DomainError('application.not_found');
  for (const grant of grants) {
    const metadata = { reason, oauth_client_id: oauthClientId };
    await recordEvent(tx, 'auth.grant_revoked', { ...scope, resourceId: grant.id, actor: by, metadata });
  }
}
