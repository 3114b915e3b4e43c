import { type EntityManager, Raw } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { EnvironmentMembership } from '../../../entities/environment-membership.js';
import { EnvironmentSettings } from '../../../entities/environment-settings.js';
import { Identity } from '../../../entities/identity.js';
import type { Clock } from '../../platform/clock.js';
import { type Db, type EnvironmentScope, violates, within } from '../../platform/db.js';
import { addToCounter, readCounter } from '../counters.js';
import { DomainError } from '../errors.js';
import { recordEvent } from '../events.js';
import { containing, type Page, type PageRequest, readPage } from '../paging.js';
import type { Passwords } from '../passwords/passwords.js';

export interface NewIdentity {
  email: string;
  firstName: string | null;
  lastName: string | null;
  avatarUrl: string | null;
  externalId: string | null;
  metadata: Record<string, unknown>;
  emailVerified: boolean;
  password: string | null;
}

/** An Identity as a member of one Environment. */
export interface IdentityInEnvironment {
  identity: Identity;
  membership: EnvironmentMembership;
}

export type IdentitySort = 'created_at' | 'email' | 'first_name' | 'last_name';

export interface Identities {
  list(
    scope: EnvironmentScope,
    page: PageRequest<IdentitySort> & { isActive: boolean | undefined },
  ): Promise<Page<IdentityInEnvironment>>;
  /** @throws DomainError identity.not_found when it has no membership in the Environment. */
  get(scope: EnvironmentScope, id: string): Promise<IdentityInEnvironment>;
  /**
   * Makes an Identity, or gives one that the Account's directory has already a membership here (contract §10).
   * @throws DomainError identity.email_taken, identity.external_id_taken, password.*
   */
  create(scope: EnvironmentScope, input: NewIdentity): Promise<IdentityInEnvironment>;
}

const columns: Record<IdentitySort, string[]> = {
  created_at: ['membership.createdAt', 'membership.identityId'],
  email: ['identity.email', 'membership.identityId'],
  first_name: ['identity.firstName', 'membership.identityId'],
  last_name: ['identity.lastName', 'membership.identityId'],
};

export function createIdentities({ db, now, passwords }: { db: Db; now: Clock; passwords: Passwords }): Identities {
  return {
    list: (scope, page) =>
      db.transaction(scope, async (tx) => {
        const query = tx
          .createQueryBuilder(EnvironmentMembership, 'membership')
          .innerJoinAndMapOne('membership.identity', Identity, 'identity', 'identity.id = membership.identityId')
          .where(within(scope));
        if (page.isActive !== undefined) query.andWhere('membership.isActive = :isActive', page);
        if (page.q) {
          query.andWhere(
            '(identity.email ilike :pattern or identity.firstName ilike :pattern or identity.lastName ilike :pattern)',
            {
              pattern: containing(page.q),
            },
          );
        }
        const filtered = page.isActive !== undefined || page.q;
        const count = filtered ? undefined : await readCounter(tx, scope, 'identities');
        const { rows, ...rest } = await readPage(query, page, columns[page.sortBy], count);
        return {
          ...rest,
          rows: (rows as (EnvironmentMembership & { identity: Identity })[]).map(({ identity, ...membership }) => ({
            identity,
            membership,
          })),
        };
      }),

    get: (scope, id) =>
      db.transaction(scope, async (tx) => {
        const found = await findIn(tx, scope, id);
        if (!found) throw new DomainError('identity.not_found');
        return found;
      }),

    async create(scope, input) {
      const passwordHash = input.password === null ? null : await hashAcceptable(scope, input.password);
      return db
        .transaction(scope, async (tx) => {
          const at = now();
          const known = await findByAddress(tx, scope, input.email);
          const identity = known ?? newIdentity(scope, input, passwordHash, at);
          if (!known) await tx.insert(Identity, identity);
          const membership = { id: uuidv7(), ...within(scope), identityId: identity.id, isActive: true, createdAt: at };
          await tx.insert(EnvironmentMembership, membership);
          await addToCounter(tx, scope, 'identities', 1);
          await recordEvent(tx, 'identity.created', {
            ...scope,
            resourceId: identity.id,
            metadata: { joined: Boolean(known) },
          });
          return { identity, membership };
        })
        .catch((error: unknown) => {
          for (const name of ['identities_email', 'environment_memberships_one_per_identity']) {
            if (violates(error, name)) throw new DomainError('identity.email_taken');
          }
          if (violates(error, 'identities_external_id')) throw new DomainError('identity.external_id_taken');
          throw error;
        });
    },
  };

  async function hashAcceptable(scope: EnvironmentScope, password: string): Promise<string> {
    const { passwordMinLength: minLength } = await db.transaction(scope, (tx) =>
      tx.findOneOrFail(EnvironmentSettings, {
        where: within(scope),
        select: { environmentId: true, passwordMinLength: true },
      }),
    );
    await passwords.assertAcceptable(password, { minLength, field: 'password' });
    return passwords.hash(password);
  }
}

/** By way of a function, since row-level security keeps PostgreSQL from using the index on addresses. */
function findByAddress(tx: EntityManager, { accountId }: EnvironmentScope, email: string): Promise<Identity | null> {
  const id = Raw((column) => `${column} = (select gatehouse_identity_id(:accountId, :email))`, { accountId, email });
  return tx.findOneBy(Identity, { accountId, id });
}

async function findIn(tx: EntityManager, scope: EnvironmentScope, id: string): Promise<IdentityInEnvironment | null> {
  const membership = await tx.findOneBy(EnvironmentMembership, { ...within(scope), identityId: id });
  const identity = membership && (await tx.findOneBy(Identity, { accountId: scope.accountId, id }));
  return identity && { identity, membership };
}

function newIdentity(
  { accountId }: EnvironmentScope,
  input: NewIdentity,
  passwordHash: string | null,
  at: Date,
): Identity {
  return {
    id: uuidv7(),
    accountId,
    email: input.email,
    emailVerifiedAt: input.emailVerified ? at : null,
    firstName: input.firstName,
    lastName: input.lastName,
    avatarUrl: input.avatarUrl,
    externalId: input.externalId,
    metadata: input.metadata,
    passwordHash,
    passwordChangedAt: passwordHash ? at : null,
    createdAt: at,
    updatedAt: at,
  };
}
