import type { EntityManager } from 'typeorm';
import type { IdentityInvite } from '../../../entities/identity-invite.js';
import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import { violates } from '../../platform/database/postgres-errors.js';
import type { AccountScope, EnvironmentScope } from '../../platform/scope.js';
import type { Assignments } from '../access/assignments/assignments.js';
import type { Caller } from '../caller.js';
import { defaultLocaleOf } from '../emails/locale.js';
import { DomainError, invalidField } from '../errors.js';
import type { MailingInvite } from '../invites/mails-to-address.js';
import type { Page } from '../lists/paging.js';
import { type IssuingDeps, issueAgain, issueInvite, withdraw } from './issue.js';
import { type IdentityInvitesPage, listInvites } from './list.js';
import { assertStillMayGrant, notPending } from './offering.js';
import {
  findInvite,
  type IdentityInvitesSummary,
  invitesSummary,
  type ListedInvite,
  type ShownIdentityInvite,
  withComputedStatus,
} from './rows.js';

export interface NewIdentityInvite {
  intent: 'activate' | 'directory';
  email: string;
  firstName: string | null;
  lastName: string | null;
  /** Given at acceptance, at `nodeId` or, if that is null, at the root. */
  roleId: string | null;
  nodeId: string | null;
  /** By default the Environment's. */
  locale: 'en' | 'de' | undefined;
}

export interface IdentityInvites {
  /** @param environmentId only invites into this Environment; null: only invites into the directory alone */
  list(scope: AccountScope, page: IdentityInvitesPage, environmentId?: string | null): Promise<Page<ListedInvite>>;
  /** Counts the invites that `list` returns. */
  summary(scope: AccountScope, environmentId?: string | null): Promise<IdentityInvitesSummary>;
  /** @throws DomainError identity_invite.not_found */
  get(scope: EnvironmentScope, id: string): Promise<ShownIdentityInvite>;
  /**
   * Invites somebody by mail to the Environment or the Account's directory.
   * @throws DomainError identity_invite.already_pending, identity_invite.already_member, validation.failed,
   *   permission.required, role.not_found, role.cannot_grant, nodes.node_not_found; rate_limit.exceeded with this
   *   address
   */
  create(scope: EnvironmentScope, caller: Caller, invite: NewIdentityInvite): Promise<ShownIdentityInvite>;
  /**
   * Sends a new link, valid for as long as a first one; the old link becomes void. An expired invite is pending again.
   * @throws DomainError as `create`, and identity_invite.not_found, identity_invite.not_pending,
   *   identity_invite.role_deleted
   */
  resend(scope: EnvironmentScope, caller: Caller, id: string): Promise<ShownIdentityInvite>;
  /** @throws DomainError identity_invite.not_found, identity_invite.not_pending */
  revoke(scope: EnvironmentScope, id: string): Promise<ShownIdentityInvite>;
}

export interface IdentityInvitesDeps extends IssuingDeps {
  db: Db;
  assignments: Pick<Assignments, 'assertMayGrant'>;
  mailing: MailingInvite;
  now: Clock;
}

/** Manages invites of end users (specification, "Identity invite"; contract §5). */
export function createIdentityInvites({
  db,
  assignments,
  mailing,
  now,
  ...issuing
}: IdentityInvitesDeps): IdentityInvites {
  const one = async (tx: EntityManager, invite: IdentityInvite) =>
    (await withComputedStatus(tx, [invite], now()))[0] as ShownIdentityInvite;

  const change = <T>(scope: EnvironmentScope, work: (tx: EntityManager) => Promise<T>) =>
    db.transaction(scope, work).catch((error: unknown) => {
      throw violates(error, 'identity_invites_one_pending_per_address')
        ? new DomainError('identity_invite.already_pending')
        : error;
    });

  async function find(tx: EntityManager, scope: EnvironmentScope, id: string, { lock = false } = {}) {
    const invite = await findInvite(tx, scope, id, { whose: {}, lock });
    if (!invite) throw new DomainError('identity_invite.not_found');
    return one(tx, invite);
  }

  const get = (scope: EnvironmentScope, id: string) => db.transaction(scope, (tx) => find(tx, scope, id));

  return {
    list: (scope, page, into) => listInvites(db, scope, page, { into, now: now() }),

    summary: (scope, environmentId) =>
      db.transaction(scope, (tx) => invitesSummary(tx, scope, { whose: { environmentId }, now: now() })),

    get,

    create: (scope, caller, invite) => mailing(scope, invite.email, () => create(scope, caller, invite)),

    async resend(scope, caller, id) {
      const { email } = await get(scope, id);
      return mailing(scope, email, () => resend(scope, caller, id));
    },

    revoke: (scope, id) =>
      change(scope, async (tx) => {
        const invite = await find(tx, scope, id, { lock: true });
        if (invite.status !== 'pending') throw notPending();
        await withdraw(tx, [invite], { reason: 'revoked', now: now() });
        return find(tx, scope, id);
      }),
  };

  function create(scope: EnvironmentScope, caller: Caller, invite: NewIdentityInvite) {
    const { roleId, nodeId, locale, ...person } = invite;
    return change(scope, async (tx) => {
      if (roleId === null && nodeId !== null) throw invalidField('node_id', 'without_role', 'needs a `role_id`');
      if (roleId !== null && person.intent === 'directory')
        throw invalidField('role_id', 'without_environment', 'requires the intent `activate`');
      const roleIds = roleId === null ? [] : [roleId];
      const place = roleId === null ? null : await assignments.assertMayGrant(tx, scope, caller, { roleIds, nodeId });
      await assertNew(tx, scope, person);
      const offer = { ...person, roleIds, nodeId: place, organizationId: null };
      const spoken = locale ?? (await defaultLocaleOf(tx, scope));
      return one(tx, await issueInvite(tx, scope, caller, { ...offer, locale: spoken }, { ...issuing, now: now() }));
    });
  }

  function resend(scope: EnvironmentScope, caller: Caller, id: string) {
    return change(scope, async (tx) => {
      const invite = await find(tx, scope, id, { lock: true });
      if (invite.status !== 'pending' && invite.status !== 'expired') throw notPending();
      await assertStillMayGrant(assignments, tx, { scope, caller, invite });
      await assertNew(tx, scope, invite as IdentityInvite & { intent: NewIdentityInvite['intent'] });
      return one(tx, await issueAgain(tx, invite, { ...issuing, now: now() }));
    });
  }
}

/**
 * Checks that the person is not yet in the Environment, or in the directory if the invite leads there. A deactivated
 * membership counts, too: the invite would let them back in.
 * @throws DomainError identity_invite.already_member
 */
async function assertNew(
  tx: EntityManager,
  { accountId, environmentId }: EnvironmentScope,
  { intent, email }: Pick<NewIdentityInvite, 'intent' | 'email'>,
): Promise<void> {
  // Through a function, since row-level security keeps PostgreSQL from using the index on addresses.
  const [known] = await tx.query<{ isMember: boolean }[]>(
    `select exists (select from environment_memberships where environment_id = $2 and identity_id = i.id) as "isMember"
     from identities i where account_id = $1 and id = (select gatehouse_identity_id($1, $3::citext))`,
    [accountId, environmentId, email],
  );
  if (known && (intent === 'directory' || known.isMember)) throw new DomainError('identity_invite.already_member');
}
