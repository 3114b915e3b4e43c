import type { EntityManager } from 'typeorm';
import { EnvironmentMembership } from '../../../entities/environment-membership.js';
import { Identity } from '../../../entities/identity.js';
import type { Clock } from '../../platform/clock.js';
import { assertStillMay } from '../../platform/context.js';
import { type Db, inOwnTransaction, inTransaction } from '../../platform/database/db.js';
import { violates } from '../../platform/database/postgres-errors.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { lockIdentityByAddress } from '../addresses/identity-by-address.js';
import { assertStays } from '../erasures/staying.js';
import { DomainError } from '../errors.js';
import { recordEvent } from '../events/record.js';
import { addToCounter } from '../lists/counters.js';
import type { Page } from '../lists/paging.js';
import type { Bind } from '../lists/sql-parameters.js';
import type { Passwords } from '../passwords/passwords.js';
import { endSessionsFromBefore } from '../sessions/before-joining.js';
import { setActive } from './activation.js';
import { identitiesAt, type NodeIdentitiesPage } from './at-node.js';
import { findMemberInDetail, type MemberInDetail } from './detail.js';
import { findMember, type IdentityInEnvironment } from './find.js';
import { hashAcceptable } from './hash-password.js';
import { type IdentitiesWithRolesPage, type ListedWithRoles, listWithRoles } from './lists.js';
import { assertMetadata } from './metadata.js';
import { type NewIdentity, newIdentity, newMembership } from './new-identity.js';
import { addNewcomer } from './newcomers.js';
import { type IdentitiesPage, type ListedMember, type Meant, readMembers } from './read-members.js';

export type { ListedWithRoles } from './lists.js';
export type { ListedMember } from './read-members.js';

/** What else belongs to a new member, in the same transaction: if it is refused, nobody has joined. */
export type ForNewcomer = (tx: EntityManager, identityId: string) => Promise<unknown>;

export interface Identities {
  /** @param page `externalId`: the Identity with this id of the application; `email`: the one with that address */
  list(scope: EnvironmentScope, page: IdentitiesPage & Exactly): Promise<Page<ListedMember>>;
  listWithRoles(scope: EnvironmentScope, page: IdentitiesWithRolesPage): Promise<Page<ListedWithRoles>>;
  /** Identities with a role at a node itself. @throws DomainError nodes.node_not_found */
  listAtNode(scope: EnvironmentScope, nodeId: string, page: NodeIdentitiesPage): Promise<Page<ListedWithRoles>>;
  /** Returns a member of the Environment. @throws DomainError identity.not_found */
  get(scope: EnvironmentScope, id: string): Promise<IdentityInEnvironment>;
  /** Returns a member with the roles that they hold or are going to hold. @throws DomainError identity.not_found */
  getInDetail(scope: EnvironmentScope, id: string): Promise<MemberInDetail>;
  /**
   * Creates an Identity, or makes one of the Account's directory a member here (contract §10).
   * @returns the new member as the transaction leaves it, whatever happens to it right after
   * @throws DomainError identity.email_taken, identity.external_id_taken, password.*, and what `alongside` refuses
   */
  create(scope: EnvironmentScope, input: NewIdentity, alongside?: ForNewcomer): Promise<MemberInDetail>;
}

/** A filter for a single Identity; with both, it has to match both. */
interface Exactly {
  externalId?: string | undefined;
  email?: string | undefined;
}

function meantBy(isActive: boolean | undefined, { externalId, email }: Exactly): Meant {
  if (externalId === undefined && email === undefined) return { isActive };
  const conditions = (put: Bind) => [
    ...(externalId === undefined
      ? []
      : [`m.identity_id = (select id from identities where account_id = $1 and external_id = ${put(externalId)})`]),
    ...(email === undefined ? [] : [`m.identity_id = (select gatehouse_identity_id($1, ${put(email)}::citext))`]),
  ];
  return { isActive, and: (put) => conditions(put).join(' and ') };
}

export function createIdentities({ db, now, passwords }: { db: Db; now: Clock; passwords: Passwords }): Identities {
  /** Makes new members inactive from the beginning, with whatever else belongs to them. */
  const keptOut =
    (scope: EnvironmentScope, alongside: ForNewcomer | undefined): ForNewcomer =>
    async (tx, id) => {
      await alongside?.(tx, id);
      await setActive(tx, scope, id, { isActive: false, at: now() });
    };

  return {
    list: (scope, { externalId, email, ...page }) =>
      readMembers(db, scope, page, meantBy(page.isActive, { externalId, email })),
    listWithRoles: (scope, page) => db.transaction(scope, (tx) => listWithRoles(tx, scope, page, now())),
    listAtNode: (scope, nodeId, page) => db.transaction(scope, (tx) => identitiesAt(tx, scope, nodeId, page, now())),
    get: (scope, id) => db.transaction(scope, (tx) => findMember(tx, scope, id)),

    getInDetail: (scope, id) => findMemberInDetail(inOwnTransaction(db, scope), scope, id, now()),

    async create(scope, input, alongside) {
      assertMetadata(input.metadata);
      const passwordHash =
        input.password === null ? null : await hashAcceptable({ db, passwords }, scope, input.password, input);
      await assertStillMay();
      const besides = input.isActive === false ? keptOut(scope, alongside) : alongside;
      const identity = newIdentity(scope, input, passwordHash, now());
      const made = { identity, membership: newMembership(scope, identity.id, identity.createdAt) };
      const add = async (): Promise<MemberInDetail> => {
        if (!besides && (await addNewcomer(inOwnTransaction(db, scope), scope, made))) return { ...made, roles: [] };
        return db.transaction(scope, async (tx) => {
          const run = inTransaction(tx);
          const isNew = besides !== undefined && (await addNewcomer(run, scope, made));
          const { id } = (isNew ? made : await addKnown(tx, scope, identity)).identity;
          await besides?.(tx, id);
          return findMemberInDetail(run, scope, id, now());
        });
      };
      return add().catch((error: unknown) => {
        throw asTaken(error);
      });
    },
  };
}

/**
 * Makes an Identity of the Account's directory a member, with profile and password as they are; in the caller's
 * transaction.
 * @throws what `asTaken` translates; DomainError identity.external_id_taken if it is another Identity that has it, and
 *   identity.email_taken while the one with the address is being erased
 */
export async function addKnown(
  tx: EntityManager,
  scope: EnvironmentScope,
  { email, externalId, createdAt: at }: Identity,
): Promise<IdentityInEnvironment> {
  const identity = await lockIdentityByAddress(tx, scope, email);
  if (!identity) {
    const isOther = externalId !== null && (await tx.existsBy(Identity, { accountId: scope.accountId, externalId }));
    throw new DomainError(isOther ? 'identity.external_id_taken' : 'identity.email_taken'); // since a moment ago
  }
  await assertStays(tx, identity);
  await endSessionsFromBefore(tx, scope, [identity.id], { reason: 'joined', at });
  const membership = newMembership(scope, identity.id, at);
  await tx.insert(EnvironmentMembership, membership);
  // The counter's row comes last, since others wait for it: it is locked for the shortest time, and after the
  // Environment's.
  await Promise.all([
    recordEvent(tx, 'identity.created', { ...scope, resourceId: identity.id, metadata: { joined: true } }),
    addToCounter(tx, scope, 'identities', 1),
  ]);
  return { identity, membership };
}

/** The refusal for a violated constraint of Identities. */
export function asTaken(error: unknown): unknown {
  for (const name of ['identities_email', 'environment_memberships_one_per_identity']) {
    if (violates(error, name)) return new DomainError('identity.email_taken');
  }
  return violates(error, 'identities_external_id') ? new DomainError('identity.external_id_taken') : error;
}
