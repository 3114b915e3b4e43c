import type { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { ScimToken } from '../../../entities/scim-token.js';
import type { Clock } from '../../platform/clock.js';
import { hashSecret, isSecret, newSecret } from '../../platform/crypto/one-time-secret.js';
import { type Db, within } from '../../platform/database/db.js';
import type { AccountScope, EnvironmentScope } from '../../platform/scope.js';
import { DomainError, invalidField } from '../errors.js';
import { recordEvent } from '../events/record.js';
import { environmentExists, lockEnvironment } from '../existing-environment.js';
import { containing, type Page, type PageRequest, readPage } from '../lists/paging.js';
import { readRowCount } from '../lists/row-counts.js';
import { lockOrganization } from '../organizations/members.js';

export interface NewScimToken {
  name: string;
  environmentId: string;
  /** The organization whose people it provisions; null: all of the Environment. */
  organizationId: string | null;
  expiresAt: Date | null;
}

export type ScimTokenPage = PageRequest<'created_at' | 'name'> & { environmentId: string | undefined };

const prefix = 'ghscim_';
const columns = { created_at: ['token.createdAt', 'token.id'], name: ['token.name', 'token.id'] };

/** Tokens with which directories provision: created and revoked by the Account's administrators, stored as hashes. */
export function createScimTokens({ db, now }: { db: Db; now: Clock }) {
  return {
    list: (scope: AccountScope, { environmentId, ...page }: ScimTokenPage): Promise<Page<ScimToken>> =>
      db.transaction(scope, async (tx) => {
        const query = tx
          .createQueryBuilder(ScimToken, 'token')
          .where(within(scope))
          .andWhere(environmentExists('token'));
        if (environmentId) query.andWhere('token.environmentId = :environmentId', { environmentId });
        if (page.q) query.andWhere('token.name ilike :pattern', { pattern: containing(page.q) });
        const total = page.q ? undefined : await readRowCount(tx, { ...scope, environmentId }, 'scim_tokens');
        return readPage(query, page, columns[page.sortBy], total);
      }),

    /** @throws DomainError scim_token.not_found, also where its Environment is being deleted */
    get: (scope: AccountScope, id: string): Promise<ScimToken> =>
      db.transaction(scope, async (tx) => {
        const query = tx.createQueryBuilder(ScimToken, 'token').where({ ...within(scope), id });
        const token = await query.andWhere(environmentExists('token')).getOne();
        if (!token) throw new DomainError('scim_token.not_found');
        return token;
      }),

    /**
     * Creates a token. Its secret is answered here and never again.
     * @throws DomainError environment.not_found, organization.not_found
     */
    async create(scope: AccountScope, input: NewScimToken): Promise<{ token: ScimToken; secret: string }> {
      const at = now();
      if (input.expiresAt && input.expiresAt <= at) throw invalidField('expires_at', 'past', 'has already passed');
      return db.transaction(scope, async (tx) => {
        const place = await environmentScope(tx, scope, input.environmentId);
        // Locked against its deletion, which revokes the tokens that it finds, with an event each.
        if (input.organizationId !== null) await lockOrganization(tx, place, input.organizationId);
        const secret = `${prefix}${newSecret()}`;
        const token: ScimToken = {
          ...place,
          ...input,
          id: uuidv7(),
          tokenHash: hashSecret(secret),
          tokenPreview: `${prefix}…${secret.slice(-4)}`,
          lastUsedAt: null,
          createdAt: at,
        };
        await tx.insert(ScimToken, token);
        await recordEvent(tx, 'scim_token.created', eventOf(token));
        return { token, secret };
      });
    },

    /** @throws DomainError scim_token.not_found */
    assertThere: (scope: AccountScope, id: string): Promise<void> =>
      db.transaction(scope, async (tx) => {
        if (!(await tx.existsBy(ScimToken, { ...within(scope), id }))) throw new DomainError('scim_token.not_found');
      }),

    /** Revokes a token; every process refuses it from the next request on. @throws DomainError scim_token.not_found */
    revoke: (scope: AccountScope, id: string): Promise<void> =>
      db.transaction(scope, async (tx) => {
        const where = { ...within(scope), id };
        const token = await tx.findOne(ScimToken, { where, lock: { mode: 'pessimistic_write' } });
        if (!token) throw new DomainError('scim_token.not_found');
        await revokeToken(tx, token);
      }),
  };
}

/** Revokes a token that the caller has locked, alone or with its organization. */
export async function revokeToken(tx: EntityManager, token: ScimToken): Promise<void> {
  await tx.delete(ScimToken, { accountId: token.accountId, id: token.id });
  await recordEvent(tx, 'scim_token.revoked', eventOf(token));
}

export type ScimTokens = ReturnType<typeof createScimTokens>;

/** Whether a text can be a token; anything else is not looked up. */
export const isScimToken = (text: string): boolean => text.startsWith(prefix) && isSecret(text.slice(prefix.length));

/**
 * The scope of an Environment of the Account, which stays until the end of the transaction.
 * @throws DomainError environment.not_found
 */
export async function environmentScope(
  tx: EntityManager,
  { accountId }: AccountScope,
  environmentId: string,
): Promise<EnvironmentScope> {
  const { applicationId } = await lockEnvironment(tx, { accountId, environmentId });
  return { accountId, applicationId, environmentId };
}

const eventOf = ({ accountId, applicationId, environmentId, organizationId, id, name }: ScimToken) => ({
  accountId,
  applicationId,
  environmentId,
  resourceId: id,
  resourceLabel: name,
  metadata: { organization_id: organizationId },
});
