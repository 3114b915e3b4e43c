import type { EntityManager } from 'typeorm';
import type { IdentityInvite } from '../../../entities/identity-invite.js';
import { OrganizationMember } from '../../../entities/organization-member.js';
import { type Db, within } from '../../platform/database/db.js';
import { violates } from '../../platform/database/postgres-errors.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { identityIdByAddress } from '../addresses/identity-by-address.js';
import type { Caller } from '../caller.js';
import { defaultLocaleOf } from '../emails/locale.js';
import { DomainError } from '../errors.js';
import type { Page } from '../lists/paging.js';
import { findOrganization } from '../organizations/find.js';
import { lockOrganization } from '../organizations/members.js';
import type { IdentityInvitesDeps } from './identity-invites.js';
import { issueAgain, issueInvite, withdraw } from './issue.js';
import { type IdentityInvitesPage, listInvitations } from './list.js';
import { assertMayOffer, assertStillMayGrant, notPending } from './offering.js';
import { findInvite, type ListedInvite, type ShownIdentityInvite, withComputedStatus } from './rows.js';

export interface NewInvitation {
  email: string;
  firstName: string | null;
  lastName: string | null;
  /** Given at acceptance, at the organization's node. */
  roleIds: string[];
  /** By default the Environment's. */
  locale: 'en' | 'de' | undefined;
}

export interface WhichInvitation {
  organizationId: string;
  id: string;
}

export interface OrganizationInvitations {
  /** @throws DomainError organization.not_found */
  list(scope: EnvironmentScope, organizationId: string, page: IdentityInvitesPage): Promise<Page<ListedInvite>>;
  /** @throws DomainError organization.not_found, identity_invite.not_found */
  get(scope: EnvironmentScope, which: WhichInvitation): Promise<ShownIdentityInvite>;
  /**
   * Invites somebody by mail to become a member of an organization, and of the Environment unless they are one.
   * @throws DomainError organization.not_found, identity_invite.already_pending, identity_invite.already_member,
   *   permission.required, role.not_found, role.cannot_grant; rate_limit.exceeded with this address
   */
  create(
    scope: EnvironmentScope,
    caller: Caller,
    organizationId: string,
    invitation: NewInvitation,
  ): Promise<ShownIdentityInvite>;
  /**
   * Sends a new link, valid for as long as a first one; the old link becomes void. An expired invitation is pending
   * again.
   * @throws DomainError as `create`, and identity_invite.not_found, identity_invite.not_pending,
   *   identity_invite.role_deleted
   */
  resend(scope: EnvironmentScope, caller: Caller, which: WhichInvitation): Promise<ShownIdentityInvite>;
  /** Leaves an ended invitation as it is. @throws DomainError organization.not_found, identity_invite.not_found */
  revoke(scope: EnvironmentScope, which: WhichInvitation): Promise<void>;
}

/** Manages invitations into organizations (contract §5): invites that make end users members. */
export function createOrganizationInvitations({
  db,
  assignments,
  mailing,
  now,
  ...issuing
}: IdentityInvitesDeps): OrganizationInvitations {
  const one = async (tx: EntityManager, invite: IdentityInvite) =>
    (await withComputedStatus(tx, [invite], now()))[0] as ShownIdentityInvite;

  /** Runs a change after locking the organization, before any of its invitations is locked. */
  const change = <T>(
    scope: EnvironmentScope,
    organizationId: string,
    work: (tx: EntityManager) => Promise<T>,
  ): Promise<T> =>
    changing(db, scope, async (tx) => {
      await lockOrganization(tx, scope, organizationId);
      return work(tx);
    });

  async function find(
    tx: EntityManager,
    scope: EnvironmentScope,
    { organizationId, id }: WhichInvitation,
    { lock = false } = {},
  ) {
    const invite = await findInvite(tx, scope, id, { whose: { organizationId }, lock });
    if (!invite) throw new DomainError('identity_invite.not_found');
    return one(tx, invite);
  }

  const get = (scope: EnvironmentScope, which: WhichInvitation) =>
    db.transaction(scope, async (tx) => {
      await findOrganization(tx, scope, which.organizationId);
      return find(tx, scope, which);
    });

  return {
    list: (scope, organizationId, page) =>
      db.transaction(scope, async (tx) => {
        await findOrganization(tx, scope, organizationId);
        return listInvitations(tx, scope, page, { organizationId, now: now() });
      }),

    get,

    create: (scope, caller, organizationId, invitation) =>
      mailing(scope, invitation.email, () => create(scope, caller, organizationId, invitation)),

    async resend(scope, caller, which) {
      const { email } = await get(scope, which);
      return mailing(scope, email, () => resend(scope, caller, which));
    },

    revoke: (scope, which) =>
      change(scope, which.organizationId, async (tx) => {
        const invite = await find(tx, scope, which, { lock: true });
        if (invite.status === 'pending') await withdraw(tx, [invite], { reason: 'revoked', now: now() });
      }),
  };

  function create(scope: EnvironmentScope, caller: Caller, organizationId: string, invitation: NewInvitation) {
    const { locale, roleIds: wanted, ...person } = invitation;
    return change(scope, organizationId, async (tx) => {
      const roleIds = [...new Set(wanted)];
      const nodeId = organizationId;
      await assertMayOffer(assignments, tx, { scope, caller, invite: { email: person.email, roleIds, nodeId } });
      await assertNoMember(tx, scope, organizationId, person.email);
      const offer = { ...person, intent: 'organization' as const, roleIds, nodeId, organizationId };
      const spoken = locale ?? (await defaultLocaleOf(tx, scope));
      return one(tx, await issueInvite(tx, scope, caller, { ...offer, locale: spoken }, { ...issuing, now: now() }));
    });
  }

  function resend(scope: EnvironmentScope, caller: Caller, which: WhichInvitation) {
    return change(scope, which.organizationId, async (tx) => {
      const invite = await find(tx, scope, which, { lock: true });
      if (invite.status !== 'pending' && invite.status !== 'expired') throw notPending();
      await assertStillMayGrant(assignments, tx, { scope, caller, invite });
      await assertNoMember(tx, scope, which.organizationId, invite.email);
      return one(tx, await issueAgain(tx, invite, { ...issuing, now: now() }));
    });
  }
}

const changing = <T>(db: Db, scope: EnvironmentScope, work: (tx: EntityManager) => Promise<T>): Promise<T> =>
  db.transaction(scope, work).catch((error: unknown) => {
    throw violates(error, 'identity_invites_one_pending_per_organization')
      ? new DomainError('identity_invite.already_pending')
      : error;
  });

/** @throws DomainError identity_invite.already_member */
async function assertNoMember(
  tx: EntityManager,
  scope: EnvironmentScope,
  organizationId: string,
  email: string,
): Promise<void> {
  const identityId = await identityIdByAddress(tx, scope, email);
  if (identityId !== null && (await tx.existsBy(OrganizationMember, { ...within(scope), organizationId, identityId })))
    throw new DomainError('identity_invite.already_member');
}
