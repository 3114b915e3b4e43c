import type { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { EnvironmentSettings } from '../../../../entities/environment-settings.js';
import { OAuthClient } from '../../../../entities/oauth-client.js';
import { RemovedClient } from '../../../../entities/removed-client.js';
import type { Clock } from '../../../platform/clock.js';
import { hashSecret, newSecret } from '../../../platform/crypto/one-time-secret.js';
import { type Db, within } from '../../../platform/database/db.js';
import { faultOfTarget, type Guard } from '../../../platform/outbound/guard.js';
import type { EnvironmentScope } from '../../../platform/scope.js';
import { announceCredentials, type CachesCredentials } from '../../cached-credentials.js';
import { becameOf, changedFields } from '../../changed-fields.js';
import { DomainError, invalidField } from '../../errors.js';
import { recordEvent } from '../../events/record.js';
import { inDeclaredOrder } from '../../lists/declared-order.js';
import { containing, type Page, type PageRequest, readPage } from '../../lists/paging.js';
import { writeLogoutRoutes } from '../../logout-tokens/routes.js';
import { noPreviousSecret, replaced } from '../../one-time/rotated-secrets.js';
import { scopes } from '../scopes.js';
import { isBySecret } from './authentication.js';
import { assertClient, assertUsableKeys, type ClientSettings } from './rules.js';

/** A new client; omitted settings are as for one of the Account's own applications. */
export type NewClient = Omit<ClientSettings, Omissible> & {
  [setting in Omissible]?: ClientSettings[setting] | undefined;
};
type Omissible =
  | 'scopes'
  | 'consentRequired'
  | 'initiateLoginUri'
  | 'backchannelLogoutUri'
  | 'backchannelLogoutSessionRequired';

export type ClientPage = PageRequest<'created_at' | 'name'> & { clientId?: string | undefined };

export interface ClientManagement {
  list(scope: EnvironmentScope, page: ClientPage): Promise<Page<OAuthClient>>;
  /** @throws DomainError oauth_client.not_found */
  get(scope: EnvironmentScope, id: string): Promise<OAuthClient>;
  /** Returns the secret, if the client has one; it is never shown again. @throws DomainError validation.failed */
  create(scope: EnvironmentScope, input: NewClient): Promise<{ client: OAuthClient; secret: string | null }>;
  update(
    scope: EnvironmentScope,
    id: string,
    changes: Partial<Omit<ClientSettings, 'clientType'>>,
  ): Promise<OAuthClient>;
  /**
   * Returns a new secret; the old one works for the overlap, and ends at once without one.
   * @throws DomainError oauth_client.not_found, oauth_client.has_no_secret
   */
  rotateSecret(
    scope: EnvironmentScope,
    id: string,
    overlapSeconds: number,
  ): Promise<{ client: OAuthClient; secret: string }>;
  /**
   * Deletes a client. Its grants and tokens end with it, since every check of one looks up its client. They are deleted
   * in batches (docs/decisions/0042).
   */
  remove(scope: EnvironmentScope, id: string): Promise<void>;
}

const columns = { created_at: ['client.createdAt', 'client.id'], name: ['client.name', 'client.id'] };

/** @param guard decides what may be called; without one, addresses are only checked when they are called */
export function createClientManagement({
  db,
  now,
  guard,
  ...caches
}: CachesCredentials & {
  db: Db;
  now: Clock;
  guard?: Pick<Guard, 'enter'>;
}): ClientManagement {
  /** @throws DomainError validation.failed */
  function assertCallable(field: 'jwks_uri' | 'backchannel_logout_uri', uri: string | null): void {
    const fault = guard && uri ? faultOfTarget(guard, uri) : null;
    if (fault) throw invalidField(field, fault.code, fault.message);
  }

  return {
    list: (scope, page) =>
      db.transaction(scope, (tx) => {
        const query = tx.createQueryBuilder(OAuthClient, 'client').where(within(scope));
        if (page.q) query.andWhere('client.name ilike :pattern', { pattern: containing(page.q) });
        if (page.clientId !== undefined) query.andWhere('client.clientId = :clientId', page);
        return readPage(query, page, columns[page.sortBy]);
      }),
    get: (scope, id) => db.transaction(scope, (tx) => find(tx, scope, id)),
    async create(scope, given) {
      const { scopes: listed = [...scopes], consentRequired = false, initiateLoginUri = null } = given;
      const { backchannelLogoutUri = null, backchannelLogoutSessionRequired = false } = given;
      const input = {
        ...given,
        scopes: inDeclaredOrder(scopes, listed),
        consentRequired,
        initiateLoginUri,
        backchannelLogoutUri,
        backchannelLogoutSessionRequired,
      };
      assertClient(input);
      assertUsableKeys(input.jwks);
      assertCallable('jwks_uri', input.jwksUri);
      assertCallable('backchannel_logout_uri', backchannelLogoutUri);
      const secret = hasSecret(input) ? newSecret() : null;
      const at = now();
      return db.transaction(scope, async (tx) => {
        const client: OAuthClient = {
          ...scope,
          ...input,
          id: uuidv7(),
          clientId: uuidv7(),
          secretHash: secret === null ? null : hashSecret(secret),
          ...noPreviousSecret,
          createdAt: at,
          updatedAt: at,
        };
        if (!client.requirePkce) await assertWithoutPkce(tx, scope);
        await tx.insert(OAuthClient, client);
        if (backchannelLogoutUri !== null) await writeLogoutRoutes(tx, client);
        await recordEvent(tx, 'oauth_client.created', { ...scope, resourceId: client.id, resourceLabel: client.name });
        return { client, secret };
      });
    },
    update: (scope, id, given) =>
      db.transaction(scope, async (tx) => {
        const current = await find(tx, scope, id, { lock: true });
        const changes = { ...given, ...(given.scopes && { scopes: inDeclaredOrder(scopes, given.scopes) }) };
        const changed = changedFields({ ...current, scopes: inDeclaredOrder(scopes, current.scopes) }, changes);
        if (changed.length === 0) return current;
        const updated: OAuthClient = { ...current, ...changes, updatedAt: now() };
        assertClient(updated);
        if (changed.includes('jwks')) assertUsableKeys(updated.jwks);
        if (changed.includes('jwks_uri')) assertCallable('jwks_uri', updated.jwksUri);
        const hasNewLogoutUri = changed.includes('backchannel_logout_uri');
        if (hasNewLogoutUri) assertCallable('backchannel_logout_uri', updated.backchannelLogoutUri);
        if (changed.includes('require_pkce') && !updated.requirePkce) await assertWithoutPkce(tx, scope);
        // A client that begins to use a secret must be given one, and one that stops must not keep it.
        if (hasSecret(updated) !== hasSecret(current)) Object.assign(updated, { secretHash: null }, noPreviousSecret);
        await tx.update(OAuthClient, { ...within(scope), id }, updated);
        await announceCredentials(tx, caches);
        if (hasNewLogoutUri) await writeLogoutRoutes(tx, updated);
        await recordEvent(tx, 'oauth_client.updated', {
          ...scope,
          resourceId: id,
          resourceLabel: updated.name,
          metadata: { changed, became: becameOf(updated, changed, ['jwks']) },
        });
        return updated;
      }),
    rotateSecret: (scope, id, overlapSeconds) =>
      db.transaction(scope, async (tx) => {
        const client = await find(tx, scope, id, { lock: true });
        if (!hasSecret(client)) throw new DomainError('oauth_client.has_no_secret');
        const secret = newSecret();
        const at = now();
        const previous = replaced(client.secretHash, overlapSeconds, at);
        const given = { secretHash: hashSecret(secret), ...previous, updatedAt: at };
        await tx.update(OAuthClient, { ...within(scope), id }, given);
        await announceCredentials(tx, caches);
        const metadata = { overlap_seconds: overlapSeconds };
        const about = { ...scope, resourceId: id, resourceLabel: client.name, metadata };
        await recordEvent(tx, 'oauth_client.secret_rotated', about);
        return { client: { ...client, ...given }, secret };
      }),
    remove: (scope, id) =>
      db.transaction(scope, async (tx) => {
        const { name } = await find(tx, scope, id, { lock: true });
        await tx.insert(RemovedClient, { ...within(scope), id, removedAt: now() });
        await tx.delete(OAuthClient, { ...within(scope), id });
        await announceCredentials(tx, caches);
        await recordEvent(tx, 'oauth_client.deleted', { ...scope, resourceId: id, resourceLabel: name });
      }),
  };
}

const hasSecret = ({ tokenEndpointAuthMethod }: Pick<OAuthClient, 'tokenEndpointAuthMethod'>): boolean =>
  isBySecret(tokenEndpointAuthMethod);

/**
 * @throws DomainError validation.failed if the Environment requires PKCE of every client; existing ones may stay as
 *   they are
 */
async function assertWithoutPkce(tx: EntityManager, scope: EnvironmentScope): Promise<void> {
  const { requirePkce } = await tx.findOneOrFail(EnvironmentSettings, {
    select: { requirePkce: true },
    where: within(scope),
  });
  if (requirePkce)
    throw invalidField(
      'require_pkce',
      'required_by_environment',
      "cannot be false: the environment's require_pkce is true",
    );
}

async function find(
  tx: EntityManager,
  scope: EnvironmentScope,
  id: string,
  { lock = false } = {},
): Promise<OAuthClient> {
  const where = { ...within(scope), id };
  const client = await tx.findOne(OAuthClient, lock ? { where, lock: { mode: 'pessimistic_write' } } : { where });
  if (!client) throw new DomainError('oauth_client.not_found');
  return client;
}
