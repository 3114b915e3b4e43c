import { v7 as uuidv7 } from 'uuid';
import { ApiKey } from '../../../entities/api-key.js';
import { Environment } from '../../../entities/environment.js';
import type { Clock } from '../../platform/clock.js';
import { hashSecret } from '../../platform/crypto/one-time-secret.js';
import { type Db, type EnvironmentScope, within } from '../../platform/db.js';
import type { Permission } from '../access/permissions.js';
import { type Caller, holds } from '../caller.js';
import { DomainError } from '../errors.js';
import { recordEvent } from '../events.js';
import { containing, type Page, type PageRequest, readPage } from '../paging.js';
import { newApiKey } from './format.js';

export interface NewApiKey {
  name: string;
  description: string | null;
  accessMode: 'full' | 'scoped';
  scopes: Permission[];
  expiresAt: Date | null;
}

export interface ApiKeyManagement {
  list(scope: EnvironmentScope, page: PageRequest<'created_at' | 'name'>): Promise<Page<ApiKey>>;
  get(scope: EnvironmentScope, id: string): Promise<ApiKey>;
  /** The secret is answered here and never again. @throws DomainError api_key.cannot_grant */
  create(scope: EnvironmentScope, creator: Caller, input: NewApiKey): Promise<{ apiKey: ApiKey; secret: string }>;
  /** Switches a key off or on; off counts from the next request. @throws DomainError api_key.not_found */
  setActive(scope: EnvironmentScope, id: string, isActive: boolean): Promise<ApiKey>;
}

const columns = { created_at: ['key.createdAt', 'key.id'], name: ['key.name', 'key.id'] };

export function createApiKeyManagement({ db, now }: { db: Db; now: Clock }): ApiKeyManagement {
  return {
    list: (scope, page) =>
      db.transaction(scope, (tx) => {
        const query = tx.createQueryBuilder(ApiKey, 'key').where(within(scope));
        if (page.q) query.andWhere('key.name ilike :pattern', { pattern: containing(page.q) });
        return readPage(query, page, columns[page.sortBy]);
      }),
    get: (scope, id) =>
      db.transaction(scope, async (tx) => {
        const apiKey = await tx.findOneBy(ApiKey, { ...within(scope), id });
        if (!apiKey) throw new DomainError('api_key.not_found');
        return apiKey;
      }),
    async create(scope, creator, { scopes, ...input }) {
      if (!mayGrant(creator, input.accessMode, scopes)) throw new DomainError('api_key.cannot_grant');
      return db.transaction(scope, async (tx) => {
        const { type } = await tx.findOneByOrFail(Environment, { accountId: scope.accountId, id: scope.environmentId });
        const { key, clientId, secret, preview } = newApiKey(type);
        const apiKey = tx.create(ApiKey, {
          ...scope,
          ...input,
          id: uuidv7(),
          clientId,
          scopes: input.accessMode === 'full' ? [] : scopes,
          secretHash: hashSecret(secret),
          keyPreview: preview,
          isActive: true,
          lastUsedAt: null,
          createdAt: now(),
        });
        await tx.insert(ApiKey, apiKey);
        await recordEvent(tx, 'api_key.created', {
          ...scope,
          resourceId: apiKey.id,
          metadata: { access_mode: input.accessMode },
        });
        return { apiKey, secret: key };
      });
    },
    setActive: (scope, id, isActive) =>
      db.transaction(scope, async (tx) => {
        const apiKey = await tx.findOne(ApiKey, {
          where: { ...within(scope), id },
          lock: { mode: 'pessimistic_write' },
        });
        if (!apiKey) throw new DomainError('api_key.not_found');
        if (apiKey.isActive === isActive) return apiKey;
        await tx.update(ApiKey, { ...within(scope), id }, { isActive });
        await recordEvent(tx, 'api_key.updated', { ...scope, resourceId: id, metadata: { is_active: isActive } });
        return { ...apiKey, isActive };
      }),
  };
}

// Callers can only grant what they hold themselves (contract §5); administrators act by capability.
function mayGrant(creator: Caller, accessMode: 'full' | 'scoped', scopes: readonly Permission[]): boolean {
  if (creator.type === 'platform_admin') return true;
  if (accessMode === 'full') return creator.type === 'api_key' && creator.accessMode === 'full';
  return scopes.every((permission) => holds(creator, permission));
}
