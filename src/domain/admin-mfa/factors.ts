import type { EntityManager } from 'typeorm';
import { UserMfaFactor } from '../../../entities/user-mfa-factor.js';
import { UserRecoveryCode } from '../../../entities/user-recovery-code.js';
import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import { violates } from '../../platform/database/postgres-errors.js';
import { DomainError } from '../errors.js';
import type { EventAction } from '../events/catalogue.js';
import { recordOfUser } from '../events/user-events.js';
import { withSecondFactor } from '../mfa/assurance.js';
import type { TotpFactor } from '../mfa/codes/totp-codes.js';
import type { KeyFactor } from '../mfa/webauthn/ceremonies.js';
import { aal2 } from '../sessions/first-factor.js';
import { noticeAdmin } from './mails.js';
import { assertSpeaksForAll } from './other-sign-in.js';
import type { AdminProof, ProvenSession } from './proof.js';
import type { UserRecoveryCodes } from './recovery-codes.js';
import type { SignedInAdmin } from './signed-in-admin.js';

/** More than anybody needs; a code is compared with the secret of every app. */
const maxFactors = 20;

/** A factor that its owner has just proved. */
export type NewUserFactor = TotpFactor | KeyFactor;

/** What may be shown of a factor. */
export type UserFactorSummary = Pick<UserMfaFactor, 'id' | 'type' | 'label' | 'signsIn' | 'enrolledAt' | 'lastUsedAt'>;

export interface AddedUserFactor {
  factor: UserFactorSummary;
  /** Created with the first factor, and shown once. */
  recoveryCodes: string[] | null;
}

export interface UserFactorsDeps {
  db: Db;
  proof: Pick<AdminProof, 'lock'>;
  recoveryCodes: Pick<UserRecoveryCodes, 'renew' | 'withSet'>;
  now: Clock;
}

/** The second factors of platform admins: one set for all their Accounts. */
export function createUserFactors({ db, proof, recoveryCodes, now }: UserFactorsDeps) {
  type Change = Extract<EventAction, 'auth.admin_mfa_enrolled' | 'auth.admin_mfa_removed' | 'auth.admin_mfa_renamed'>;
  const record = (
    tx: EntityManager,
    action: Change,
    { userId }: SignedInAdmin,
    { id, type }: Pick<UserMfaFactor, 'id' | 'type'>,
  ) => recordOfUser(tx, action, { resourceId: userId, metadata: { factor_id: id, factor: type } });

  /** The kinds of factors that the user has. */
  const kinds = async (userId: string): Promise<UserMfaFactor['type'][]> =>
    (await db.statement<{ type: UserMfaFactor['type'] }>(kindsStatement, [userId])).map(({ type }) => type);

  return {
    kinds,

    list: (userId: string): Promise<UserFactorSummary[]> =>
      db.transaction('system', (tx) => tx.find(UserMfaFactor, { ...summary, where: { userId } })),

    /**
     * Adds a factor, which counts as proved in the session that adds it. The first one comes with recovery codes.
     * @param amr the factor's own (RFC 8176)
     * @throws DomainError auth.reauthentication_required, mfa.already_enrolled, mfa.too_many_factors
     */
    async enroll(
      admin: SignedInAdmin,
      { factor, amr }: { factor: NewUserFactor; amr: readonly string[] },
      locale: 'en' | 'de',
    ): Promise<AddedUserFactor> {
      const isFirst = (await kinds(admin.userId)).length === 0;
      return recoveryCodes.withSet(isFirst, (take) =>
        db.transaction('system', async (tx) => {
          const session = await proof.lock(tx, admin);
          const { userId } = admin;
          if ((await tx.countBy(UserMfaFactor, { userId })) >= maxFactors)
            throw new DomainError('mfa.too_many_factors');
          const at = now();
          const row = { ...factor, userId, signsIn: signsIn(factor, amr, session), enrolledAt: at, lastUsedAt: at };
          await tx.insert(UserMfaFactor, row).catch((error) => {
            const isThere = constraintsOfSame.some((name) => violates(error, name));
            throw isThere ? new DomainError('mfa.already_enrolled') : error;
          });
          await strengthen(tx, admin, session, { kind: factor.type, amr, at });
          const eventId = await record(tx, 'auth.admin_mfa_enrolled', admin, factor);
          await noticeAdmin(tx, { userId, eventId, locale, now: at });
          return {
            factor: row,
            recoveryCodes: session.hasFactor ? null : await recoveryCodes.renew(tx, userId, take()),
          };
        }),
      );
    },

    /** Renames a factor. @throws DomainError account.other_sign_in_required, mfa.factor_not_found */
    rename: (admin: SignedInAdmin, id: string, label: string): Promise<UserFactorSummary> =>
      db.transaction('system', async (tx) => {
        await assertSpeaksForAll(tx, admin); // the name is the same in all Accounts
        const factor = await find(tx, admin, id, { lock: true }); // a removal happens before or after this
        if (factor.label === label) return factor;
        await tx.update(UserMfaFactor, { id, userId: admin.userId }, { label });
        await record(tx, 'auth.admin_mfa_renamed', admin, factor);
        return { ...factor, label };
      }),

    /**
     * Removes a factor; with the last one also the recovery codes.
     * @throws DomainError account.other_sign_in_required, auth.reauthentication_required, mfa.factor_not_found;
     *   mfa.last_factor if an Account of theirs requires one
     */
    remove: (admin: SignedInAdmin, id: string, locale: 'en' | 'de'): Promise<void> =>
      db.transaction('system', async (tx) => {
        await proof.lock(tx, admin);
        const { userId } = admin;
        const factor = await find(tx, admin, id);
        await tx.delete(UserMfaFactor, { id, userId });
        if (!(await tx.existsBy(UserMfaFactor, { userId }))) {
          if ((await tx.query<unknown[]>(requiring, [userId])).length > 0) throw new DomainError('mfa.last_factor');
          await tx.delete(UserRecoveryCode, { userId });
        }
        const eventId = await record(tx, 'auth.admin_mfa_removed', admin, factor);
        await noticeAdmin(tx, { userId, eventId, locale, now: now() });
      }),
  };
}

export type UserFactors = ReturnType<typeof createUserFactors>;

const kindsStatement = {
  name: 'kinds_of_user_factors',
  text: 'select distinct type from user_mfa_factors where user_id = $1 order by type',
};
const requiring = `select from memberships m join accounts a on a.id = m.account_id
where m.user_id = $1 and a.require_mfa limit 1`;
const summary = {
  select: { id: true, type: true, label: true, signsIn: true, enrolledAt: true, lastUsedAt: true },
  order: { enrolledAt: 'asc', id: 'asc' },
} as const;
/** Violated when the enrollment of an app is confirmed twice, and when a key is registered already. */
const constraintsOfSame = ['user_mfa_factors_pkey', 'user_mfa_factors_credential'];

/**
 * Whether a new factor signs in by itself from now on. One that was enrolled on an identity provider's word does not:
 * it would outlive the provider, and open Accounts that do not trust it. Nor does a key without a PIN, since whoever
 * finds it can set one.
 */
const signsIn = (factor: NewUserFactor, amr: readonly string[], { isProviders }: ProvenSession): boolean =>
  factor.type === 'webauthn' && factor.isDiscoverable !== false && amr.includes('user') && !isProviders;

/** @throws DomainError mfa.factor_not_found */
async function find(
  tx: EntityManager,
  { userId }: SignedInAdmin,
  id: string,
  { lock = false } = {},
): Promise<UserFactorSummary> {
  const locked = lock && { lock: { mode: 'pessimistic_write' } as const };
  const factor = await tx.findOne(UserMfaFactor, { select: summary.select, where: { userId, id }, ...locked });
  if (!factor) throw new DomainError('mfa.factor_not_found');
  return factor;
}

/** Raises the session to two factors, and so its tokens: to enroll a factor is to use it. */
async function strengthen(
  tx: EntityManager,
  { sessionId, userId }: SignedInAdmin,
  session: ProvenSession,
  { kind, amr: own, at }: { kind: UserMfaFactor['type']; amr: readonly string[]; at: Date },
): Promise<void> {
  if (session.acr === aal2) return;
  const { amr, acr } = withSecondFactor(session, { kind, amr: own, counts: true, now: at });
  await tx.query('update user_sessions set amr = $3, acr = $4 where id = $1 and user_id = $2', [
    sessionId,
    userId,
    amr,
    acr,
  ]);
}
