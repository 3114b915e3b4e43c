import type { EntityManager } from 'typeorm';
import type { Clock } from '../../platform/clock.js';
import { assertStillMay, currentContext } from '../../platform/context.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import { type Db, inOwnTransaction, inTransaction } from '../../platform/database/db.js';
import { dbWithin } from '../../platform/database/db-within.js';
import { retryingDeadlocks } from '../../platform/database/retry-deadlocks.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import type { MayChange } from '../access/assignments/production-people.js';
import { letErasureStop } from '../erasures/let-erasure-stop.js';
import { DomainError } from '../errors.js';
import { recordOfIdentity } from '../events/identity-events.js';
import type { Page, PageRequest } from '../lists/paging.js';
import { createApiSessions, type SessionSort, type ShownSession } from '../logins/api-sessions.js';
import type { Attempts } from '../logins/attempts.js';
import type { MfaAttempts } from '../mfa/attempts.js';
import { letGraceStop } from '../mfa/grace/let-grace-stop.js';
import type { MfaReset } from '../mfa/reset.js';
import { type MfaSummary, mfaOf } from '../mfa/summary.js';
import type { Passwords } from '../passwords/passwords.js';
import type { RunningProcesses } from '../running-processes.js';
import { endSessions } from '../sessions/end-sessions.js';
import { createOwnApplications, endApplicationAccess, type OwnApplication } from '../sessions/own-applications.js';
import { setActive } from './activation.js';
import { changeIdentity, type IdentityChanges } from './change.js';
import { type AuthState, authStateOf, forceReset, setPassword, verifyEmail } from './credentials.js';
import { findMemberInDetail, type MemberInDetail } from './detail.js';
import { assertMember, findMember, lockIdentity, lockMember } from './find.js';
import { hashAcceptable } from './hash-password.js';
import { asTaken } from './identities.js';
import { type Location, locationsOf, resolveNode } from './permission-locations.js';
import { removeMember } from './remove.js';
import { type IdentitiesSummary, identitiesSummary } from './summaries.js';

export interface AdministrationDeps {
  db: Db;
  sealing: Pick<Sealing, 'derive'>;
  passwords: Pick<Passwords, 'assertAcceptable' | 'hash'>;
  attempts: Pick<Attempts, 'forgive' | 'closedUntil'>;
  mfaAttempts: Pick<MfaAttempts, 'forgive'>;
  mfaReset: MfaReset;
  processes: Pick<RunningProcesses, 'describe'>;
  now: Clock;
}

/**
 * What administrators and applications do to an Identity: each of these in a transaction of its own, of the whole
 * Account, which has one profile, password and set of factors for all Environments. All of them throw
 * identity.not_found if the Environment of the scope has no such member. Changes return the member as their transaction
 * leaves them: by a read after the commit, the person could have been deleted, and the change would look like a
 * failure.
 */
export function createIdentityAdministration(deps: AdministrationDeps) {
  const { db, sealing, passwords, attempts, mfaAttempts, mfaReset, processes, now } = deps;
  const inAccount = <T>({ accountId }: EnvironmentScope, work: (tx: EntityManager) => Promise<T>) =>
    db.transaction({ accountId }, work);
  const changing = (
    scope: EnvironmentScope,
    id: string,
    work: (tx: EntityManager) => Promise<unknown>,
    mayChange?: MayChange,
  ) =>
    inAccount(scope, async (tx): Promise<MemberInDetail> => {
      if (mayChange) {
        await lockIdentity(tx, scope, id);
        await mayChange(dbWithin(tx));
      }
      await work(tx);
      return findMemberInDetail(inTransaction(tx), scope, id, now());
    });
  const sessions = createApiSessions({ db, now });
  const applications = createOwnApplications({ db, now });

  return {
    /** @throws DomainError identity.email_taken, identity.external_id_taken, validation.failed */
    change: (
      scope: EnvironmentScope,
      id: string,
      changes: IdentityChanges,
      mayChange: MayChange,
    ): Promise<MemberInDetail> =>
      changing(scope, id, (tx) => changeIdentity(tx, scope, id, changes, now()), mayChange).catch((error: unknown) => {
        throw asTaken(error);
      }),

    /**
     * Ends the membership; an Identity without any is deleted as well.
     * @throws DomainError service.unavailable while the process of a cancelled erasure stops
     */
    async remove(scope: EnvironmentScope, id: string): Promise<void> {
      await letErasureStop(db, processes, scope, id);
      await retryingDeadlocks(() => inAccount(scope, (tx) => removeMember(tx, scope, id, now)));
    },

    setActive: (scope: EnvironmentScope, id: string, { isActive }: { isActive: boolean }): Promise<MemberInDetail> =>
      changing(scope, id, (tx) => setActive(tx, scope, id, { isActive, at: now() })),

    /** @throws DomainError validation.failed, password.breached, password.context_specific */
    async setPassword(
      scope: EnvironmentScope,
      id: string,
      password: string,
      mayChange: MayChange,
    ): Promise<MemberInDetail> {
      await mayChange(); // before anything slow
      const passwordHash = await hashAcceptable({ db, passwords }, scope, password, { id }).catch(async (refusal) => {
        await assertMember(db, scope, id); // a 404 comes before any 400
        throw refusal;
      });
      await assertStillMay();
      const setting = (tx: EntityManager) => setPassword(tx, scope, id, { passwordHash, at: now() });
      const member = await changing(scope, id, setting, mayChange);
      await attempts.forgive(scope, { identityId: id, email: member.identity.email });
      return member;
    },

    /** @throws DomainError oauth_client.not_found */
    forceReset: (
      scope: EnvironmentScope,
      id: string,
      clientId: string | undefined,
      mayChange: MayChange,
    ): Promise<MemberInDetail> =>
      changing(scope, id, (tx) => forceReset(tx, sealing, scope, id, { clientId, at: now() }), mayChange),

    verifyEmail: (scope: EnvironmentScope, id: string, mayChange: MayChange): Promise<MemberInDetail> =>
      changing(scope, id, (tx) => verifyEmail(tx, scope, id, now()), mayChange),

    /** Forgets the wrong passwords, codes and second factors that were counted for a person. */
    async unlock(scope: EnvironmentScope, id: string, mayChange: MayChange): Promise<MemberInDetail> {
      const recording = async (tx: EntityManager) => {
        await lockMember(tx, scope, id);
        await recordOfIdentity(tx, scope, { identityId: id }, [{ action: 'identity.unlocked' }]);
      };
      const member = await changing(scope, id, recording, mayChange);
      await mfaAttempts.forgive(id);
      await attempts.forgive(scope, { identityId: id, email: member.identity.email });
      return member;
    },

    /** Open sessions of this Environment, and ended ones that a client still uses. */
    async sessions(scope: EnvironmentScope, id: string, page: PageRequest<SessionSort>): Promise<Page<ShownSession>> {
      await assertMember(db, scope, id);
      return sessions.list({ ...scope, identityId: id, sessionId: '' }, page);
    },

    /** Ends all sessions in this Environment, or one. @throws DomainError session.not_found for that one */
    endSessions: (scope: EnvironmentScope, id: string, only?: string): Promise<void> =>
      inAccount(scope, async (tx) => {
        await lockMember(tx, scope, id);
        const by = currentContext().actor;
        const ending = { reason: 'ended_by_administrator', at: now(), by, ...(only !== undefined && { only }) };
        const ended = await endSessions(tx, scope, id, ending);
        if (only !== undefined && ended.length === 0) throw new DomainError('session.not_found');
      }),

    /** Returns the applications with valid tokens of the person in this Environment, or with their consent. */
    async applications(scope: EnvironmentScope, id: string): Promise<OwnApplication[]> {
      await assertMember(db, scope, id);
      return applications.list(scope, id);
    },

    /** Ends an application's access, and withdraws the person's consent. @throws DomainError application.not_found */
    endApplication: (scope: EnvironmentScope, id: string, oauthClientId: string): Promise<void> =>
      inAccount(scope, async (tx) => {
        await lockMember(tx, scope, id);
        const by = currentContext().actor;
        await endApplicationAccess(tx, scope, id, { oauthClientId, reason: 'revoked_by_administrator', at: now(), by });
      }),

    mfa: (scope: EnvironmentScope, id: string): Promise<MfaSummary> => mfaOf(inOwnTransaction(db, scope), scope, id),
    /** @throws DomainError service.unavailable while the process of a cancelled grace stops */
    async resetMfa(scope: EnvironmentScope, id: string, mayChange: MayChange): Promise<MfaSummary> {
      await mayChange(); // before anything is waited for
      await letGraceStop(db, processes, scope, id);
      const left = await mfaReset(scope, id, mayChange);
      await mfaAttempts.forgive(id); // so that the next factor can be enrolled and asked for at once
      return left;
    },
    async authState(scope: EnvironmentScope, id: string): Promise<AuthState> {
      const { email, ...state } = await inAccount(scope, async (tx) => {
        const member = await findMember(tx, scope, id);
        return { ...(await authStateOf(tx, scope, member, now())), email: member.identity.email };
      });
      // A lock of a quarter of an hour is only stored where failures are counted.
      const lockedUntil = state.lockedUntil ?? (await attempts.closedUntil({ accountId: scope.accountId, email }));
      return { ...state, lockedUntil };
    },
    /**
     * Returns the id of the node at which a member's permissions are asked for; null is the root.
     * @throws DomainError nodes.node_not_found
     */
    resolveNode: (scope: EnvironmentScope, id: string, nodeId: string | null): Promise<string> =>
      resolveNode(db, scope, id, nodeId),
    /** The topmost nodes at which a permission is held. @throws DomainError permission.not_found */
    locations: (scope: EnvironmentScope, id: string, permission: string): Promise<Location[]> =>
      db.transaction(scope, (tx) => locationsOf(tx, scope, id, permission, now())),
    summary: (scope: EnvironmentScope): Promise<IdentitiesSummary> =>
      inAccount(scope, (tx) => identitiesSummary(tx, scope)),
  };
}

export type IdentityAdministration = ReturnType<typeof createIdentityAdministration>;
