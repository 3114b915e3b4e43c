import type { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { ApiKey } from '../../../entities/api-key.js';
import { Environment } from '../../../entities/environment.js';
import type { Clock } from '../../platform/clock.js';
import { hashSecret } from '../../platform/crypto/one-time-secret.js';
import { type Db, within } from '../../platform/database/db.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import type { Evaluation } from '../access/decisions/evaluate.js';
import { lackingAtRoot } from '../access/roles/granting.js';
import type { Permission } from '../access/roles/permissions.js';
import { announceCredentials, type CachesCredentials } from '../cached-credentials.js';
import type { Caller } from '../caller.js';
import { reachOf } from '../capabilities/reach.js';
import { DomainError, invalidField } from '../errors.js';
import { recordEvent } from '../events/record.js';
import { lockEnvironment } from '../existing-environment.js';
import { cannotGrant } from '../forbidden.js';
import { containing, type Page, type PageRequest, readPage } from '../lists/paging.js';
import { readRowCount } from '../lists/row-counts.js';
import { noPreviousSecret, replaced } from '../one-time/rotated-secrets.js';
import { beyondScopes } from './beyond-scopes.js';
import { newApiKey } from './format.js';

export interface NewApiKey {
  name: string;
  description: string | null;
  accessMode: 'full' | 'scoped';
  scopes: Permission[];
  expiresAt: Date | null;
}

export type ApiKeyPage = PageRequest<'created_at' | 'name'> & { clientId?: string | undefined };

export interface ApiKeyManagement {
  list(scope: EnvironmentScope, page: ApiKeyPage): Promise<Page<ApiKey>>;
  get(scope: EnvironmentScope, id: string): Promise<ApiKey>;
  /**
   * Creates a key and returns its secret, which is never shown again.
   * @throws DomainError api_key.cannot_grant, validation.failed, environment.not_found
   */
  create(scope: EnvironmentScope, creator: Caller, input: NewApiKey): Promise<{ apiKey: ApiKey; secret: string }>;
  /**
   * Switches a key off, from the next request on, or on, which grants what the key may do.
   * @throws DomainError api_key.not_found, api_key.cannot_grant
   */
  setActive(scope: EnvironmentScope, caller: Caller, id: string, isActive: boolean): Promise<ApiKey>;
  /**
   * Gives a key a new secret and returns it, which is never shown again; the old one works for `overlapSeconds` more.
   * @throws DomainError api_key.not_found, api_key.cannot_grant, api_key.expired
   */
  rotate(
    scope: EnvironmentScope,
    caller: Caller,
    id: string,
    overlapSeconds: number,
  ): Promise<{ apiKey: ApiKey; secret: string }>;
  /** @throws DomainError api_key.not_found */
  remove(scope: EnvironmentScope, id: string): Promise<void>;
}

/**
 * Whether a caller may grant a `full` key. It may do everything in its Environment, which no end user's role allows,
 * and change the password of anybody in the Account (docs/decisions/0019), so a role in a part of the Account does not
 * suffice.
 */
function holdsEverything(caller: Caller): boolean {
  if (caller.type === 'platform_admin') return reachOf(caller.roles, 'env_api_keys.manage') === null;
  return caller.type === 'api_key' && caller.accessMode === 'full';
}

/** Refuses a key that could do nothing, or more than its scopes say. @throws DomainError validation.failed */
function assertUsable({ accessMode, scopes, expiresAt }: NewApiKey, now: Date): void {
  if (accessMode === 'scoped' && scopes.length === 0)
    throw invalidField('scopes', 'required', 'at least one is required for a `scoped` key');
  if (accessMode === 'full' && scopes.length > 0)
    throw invalidField(
      'scopes',
      'without_effect',
      'has no effect on a `full` key, which may do everything; use `scoped`',
    );
  if (expiresAt && expiresAt <= now) throw invalidField('expires_at', 'past', 'has already passed');
}

const columns = { created_at: ['key.createdAt', 'key.id'], name: ['key.name', 'key.id'] };

export interface ApiKeyManagementDeps extends CachesCredentials {
  db: Db;
  evaluation: Evaluation;
  now: Clock;
}

export function createApiKeyManagement({ db, evaluation, now, ...caches }: ApiKeyManagementDeps): ApiKeyManagement {
  /**
   * Callers can only grant what they hold themselves (contract §5). An end user also has to hold what `beyondScopes`
   * returns: a key holds the permissions that the application has registered, too, so they could otherwise give with it
   * what they may not give.
   */
  async function assertMayGrant(
    scope: EnvironmentScope,
    caller: Caller,
    { accessMode, scopes }: { accessMode: ApiKey['accessMode']; scopes: readonly string[] },
  ): Promise<void> {
    if (accessMode === 'full') {
      if (!holdsEverything(caller)) throw cannotGrant('api_key.cannot_grant', 'access_mode', ['everything']);
      return;
    }
    const more = caller.type === 'identity' ? await beyondScopes(db, scope, scopes) : [];
    const lacking = await lackingAtRoot(evaluation, scope, caller, [...scopes, ...more]);
    if (lacking.length > 0) throw cannotGrant('api_key.cannot_grant', 'scopes', lacking);
  }

  return {
    list: (scope, page) =>
      db.transaction(scope, async (tx) => {
        const query = tx.createQueryBuilder(ApiKey, 'key').where(within(scope));
        if (page.q) query.andWhere('key.name ilike :pattern', { pattern: containing(page.q) });
        if (page.clientId !== undefined) query.andWhere('key.clientId = :clientId', page);
        const isWhole = !page.q && page.clientId === undefined;
        const total = isWhole ? await readRowCount(tx, scope, 'api_keys') : undefined;
        return readPage(query, page, columns[page.sortBy], total);
      }),
    get: (scope, id) =>
      db.transaction(scope, async (tx) => {
        const apiKey = await tx.findOneBy(ApiKey, { ...within(scope), id });
        if (!apiKey) throw new DomainError('api_key.not_found');
        return apiKey;
      }),
    async create(scope, creator, { scopes, ...input }) {
      await assertMayGrant(scope, creator, { accessMode: input.accessMode, scopes });
      assertUsable({ ...input, scopes }, now());
      return db.transaction(scope, async (tx) => {
        const { type } = await lockEnvironment(tx, scope);
        const { key, clientId, secret, preview } = newApiKey(type);
        const apiKey = tx.create(ApiKey, {
          ...scope,
          ...input,
          id: uuidv7(),
          clientId,
          scopes: input.accessMode === 'full' ? [] : scopes,
          secretHash: hashSecret(secret),
          keyPreview: preview,
          ...noPreviousSecret,
          isActive: true,
          lastUsedAt: null,
          createdAt: now(),
        });
        await tx.insert(ApiKey, apiKey);
        await recordEvent(tx, 'api_key.created', {
          ...scope,
          resourceId: apiKey.id,
          resourceLabel: apiKey.name,
          metadata: { access_mode: input.accessMode },
        });
        return { apiKey, secret: key };
      });
    },
    setActive: (scope, caller, id, isActive) =>
      db.transaction(scope, async (tx) => {
        const apiKey = await lock(tx, scope, id);
        if (apiKey.isActive === isActive) return apiKey;
        // Somebody may have switched the key off because its secret is in the wrong hands.
        if (isActive) await assertMayGrant(scope, caller, apiKey);
        await tx.update(ApiKey, { ...within(scope), id }, { isActive });
        await announceCredentials(tx, caches);
        const about = { ...scope, resourceId: id, resourceLabel: apiKey.name };
        await recordEvent(tx, 'api_key.updated', { ...about, metadata: { is_active: isActive } });
        return { ...apiKey, isActive };
      }),
    rotate: (scope, caller, id, overlapSeconds) =>
      db.transaction(scope, async (tx) => {
        const apiKey = await lock(tx, scope, id);
        // The new secret grants the caller everything that the key may do.
        await assertMayGrant(scope, caller, apiKey);
        // A new secret would never work: it expires with the key.
        if (apiKey.expiresAt && apiKey.expiresAt <= now()) throw new DomainError('api_key.expired');
        const { type } = await tx.findOneByOrFail(Environment, { accountId: scope.accountId, id: scope.environmentId });
        const { key, secret, preview } = newApiKey(type, apiKey.clientId);
        const rotated: ApiKey = {
          ...apiKey,
          secretHash: hashSecret(secret),
          keyPreview: preview,
          ...replaced(apiKey.secretHash, overlapSeconds, now()),
        };
        await tx.update(ApiKey, { ...within(scope), id }, rotated);
        await announceCredentials(tx, caches);
        const metadata = { overlap_seconds: overlapSeconds };
        await recordEvent(tx, 'api_key.rotated', { ...scope, resourceId: id, resourceLabel: apiKey.name, metadata });
        return { apiKey: rotated, secret: key };
      }),
    remove: (scope, id) =>
      db.transaction(scope, async (tx) => {
        const { name } = await lock(tx, scope, id);
        await tx.delete(ApiKey, { ...within(scope), id });
        await announceCredentials(tx, caches);
        await recordEvent(tx, 'api_key.deleted', { ...scope, resourceId: id, resourceLabel: name });
      }),
  };
}

/** @throws DomainError api_key.not_found */
async function lock(tx: EntityManager, scope: EnvironmentScope, id: string): Promise<ApiKey> {
  const apiKey = await tx.findOne(ApiKey, { where: { ...within(scope), id }, lock: { mode: 'pessimistic_write' } });
  if (!apiKey) throw new DomainError('api_key.not_found');
  return apiKey;
}
