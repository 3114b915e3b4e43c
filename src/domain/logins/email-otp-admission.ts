import type { EntityManager } from 'typeorm';
import type { Clock } from '../../platform/clock.js';
import { actAs } from '../../platform/context.js';
import type { Db } from '../../platform/database/db.js';
import { violates } from '../../platform/database/postgres-errors.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { lockIdentityByAddress } from '../addresses/identity-by-address.js';
import { assertStays } from '../erasures/staying.js';
import { DomainError } from '../errors.js';
import { type ProvedAddress, settleProvedAddress } from '../passwords/new-password.js';
import { addMembership, countSignUp, createIdentity } from '../sign-ups/sign-up.js';
import type { RightCode } from './emailed-codes.js';

/** A member of the Environment, as a sign-in with an emailed code finds them by their address. */
export interface Member {
  identityId: string;
  email: string;
  isActive: boolean;
  isVerified: boolean;
}

const findStatement = {
  name: 'find_identity_for_emailed_code',
  text: `
select i.id as "identityId", i.email::text, i.email_verified_at is not null as "isVerified", m.is_active as "isActive"
from identities i
  cross join lateral (select is_active from environment_memberships where environment_id = $2 and identity_id = i.id offset 0) m
where i.account_id = $1 and i.id = (select gatehouse_identity_id($1, $3::citext))`,
};

/** Whether the code was mailed to this person: not if the address has passed to somebody else since. */
export const isTheirs = (right: RightCode, member: Member | null): boolean =>
  right.identityId === null ? right.email !== null : right.identityId === member?.identityId;

/** Whom a right code lets in: a member, or somebody who becomes one by it. */
export function createEmailOtpAdmission({ db, now }: { db: Db; now: Clock }) {
  async function find({ accountId, environmentId }: EnvironmentScope, email: string): Promise<Member | null> {
    return (await db.statement<Member>(findStatement, [accountId, environmentId, email]))[0] ?? null;
  }

  /**
   * The person has proved the mailbox. Somebody else may have created the Identity, or had it under another address. In
   * a transaction of the Account.
   */
  async function confirmAddress(tx: EntityManager, scope: EnvironmentScope, identityId: string, email: string) {
    const [known] = await tx.query<ProvedAddress['known'][]>(
      `select password_hash as "passwordHash", email_verified_at as "emailVerifiedAt" from identities
where account_id = $1 and id = $2 and email = $3::citext and email_verified_at is null for update`,
      [scope.accountId, identityId, email],
    );
    if (!known) return;
    const owner = { ...scope, identityId, membershipId: null };
    const proved = { known, passwordHash: null, method: 'email_otp', now: now() };
    await actAs({ type: 'identity', id: identityId }, () => settleProvedAddress(tx, owner, proved));
  }

  /** Adds a person who is new in the Environment; the Account may know them already (contract §10). */
  async function join(scope: EnvironmentScope, email: string, cap: number): Promise<string> {
    return db.transaction({ accountId: scope.accountId }, async (tx) => {
      const at = now();
      await countSignUp(tx, scope, { cap, now: at });
      const known = await lockIdentityByAddress(tx, scope, email);
      if (known === null) {
        const names = { firstName: null, lastName: null };
        return createIdentity(tx, scope, { email, passwordHash: null, verified: true, ...names, now: at });
      }
      await assertStays(tx, known);
      await confirmAddress(tx, scope, known.id, email);
      await addMembership(tx, scope, known.id, { now: at, joined: true });
      return known.id;
    });
  }

  /**
   * Makes the owner of the address a member, who may be joining by another request at the same time.
   * @returns the id of the person; null if they are not let in
   */
  async function joinOnce(scope: EnvironmentScope, email: string, cap: number): Promise<string | null> {
    for (let attempt = 1; attempt <= 2; attempt++) {
      try {
        return await join(scope, email, cap);
      } catch (error) {
        if (!hasLostARace(error)) throw error;
        const faster = await find(scope, email); // another code of the same person, at the same time
        if (faster) return faster.isActive ? faster.identityId : null;
        // Or they were created elsewhere in the Account at the same time: the next attempt adds them as a member.
      }
    }
    return null;
  }

  return {
    /** The member with an address; null if the Environment has none. */
    find,

    /** The Identity that a right code lets in; null for none. @throws DomainError sign_up.daily_cap_reached */
    async admit(
      scope: EnvironmentScope,
      right: RightCode,
      member: Member | null,
      cap: number | null,
    ): Promise<string | null> {
      if (!isTheirs(right, member)) return null;
      if (!member) return right.email === null || cap === null ? null : joinOnce(scope, right.email, cap);
      if (!member.isActive) return null;
      const { identityId, isVerified, email } = member;
      if (!isVerified) {
        const { accountId } = scope;
        await db.transaction({ accountId }, (tx) => confirmAddress(tx, scope, identityId, email));
      }
      return identityId;
    },
  };
}

const hasLostARace = (error: unknown): boolean =>
  (error instanceof DomainError && error.code === 'identity.email_taken') ||
  violates(error, 'environment_memberships_one_per_identity');
