import type { EntityManager } from 'typeorm';
import type { FactorKind } from '../../../entities/environment-settings.js';
import { MfaFactor } from '../../../entities/mfa-factor.js';
import { RecoveryCode } from '../../../entities/recovery-code.js';
import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import { dbWithin } from '../../platform/database/db-within.js';
import { violates } from '../../platform/database/postgres-errors.js';
import { type AccountScope, type EnvironmentScope, environmentScopeOf } from '../../platform/scope.js';
import { DomainError } from '../errors.js';
import { recordOfIdentity } from '../events/identity-events.js';
import { recordEvent } from '../events/record.js';
import { firstFactorOf } from '../first-factor-of.js';
import { requiredToHaveMfa } from '../organizations/belonging.js';
import type { OwnProofOf } from '../sessions/own-proof.js';
import type { RecoveryCodeSet } from './codes/recovery-code-hashes.js';
import type { RecoveryCodes } from './codes/recovery-codes.js';
import { settleEnrollment, settleLastRemoval } from './grace/rules.js';
import { noticeEmail } from './notices.js';
import { lockOwnProof, lockOwnSession } from './own-changes.js';
import { bringsRecoveryCodes, lockMfaState, mfaStateOf } from './state.js';
import { distrustDevices } from './trusted-devices.js';
import { keysOfIdentities, mayPassOn, withdrawPasskeys } from './webauthn/keys.js';

/** More than anybody has; a typed code is compared with the secret of every app. */
const maxFactors = 20;

const requiring = `
select from environment_settings where account_id = $1 and environment_id = $2
  and (mfa_policy = 'required' or ${requiredToHaveMfa('$2', '$3')})`;

/** A factor that was just proved, as the services of the kinds of factors make it. */
export type NewFactor = Pick<MfaFactor, 'id' | 'type' | 'label'> &
  Partial<
    Pick<
      MfaFactor,
      | 'secret'
      | 'lastUsedStep'
      | 'credentialId'
      | 'publicKey'
      | 'signCount'
      | 'transports'
      | 'deviceType'
      | 'isBackedUp'
      | 'isDiscoverable'
    >
  >;

/** What may be shown of a factor. */
export type FactorSummary = Pick<MfaFactor, 'id' | 'type' | 'label' | 'signsIn' | 'enrolledAt' | 'lastUsedAt'>;

/** The factor that was added, and the recovery codes that come with a first one; to be shown once. */
export interface Enrollment {
  factor: FactorSummary;
  recoveryCodes: string[] | null;
}

export interface FactorsDeps {
  db: Db;
  recoveryCodes: Pick<RecoveryCodes, 'renew' | 'withSet'>;
  now: Clock;
}

/**
 * An Identity's second factors. They are one set for all Environments of its Account, so all of this happens in the
 * Account's scope.
 */
export function createFactors({ db, recoveryCodes, now }: FactorsDeps) {
  /**
   * Adds a factor, in a transaction of the Account, and ends the time to enroll one.
   * @throws DomainError mfa.already_enrolled, mfa.too_many_factors
   */
  async function add(
    tx: EntityManager,
    scope: EnvironmentScope,
    identityId: string,
    { factor, amr }: { factor: NewFactor; amr: readonly string[] },
  ): Promise<{ isFirst: boolean; added: FactorSummary }> {
    const { accountId } = scope;
    await tx.query('select from identities where account_id = $1 and id = $2 for update', [accountId, identityId]);
    const existing = await tx.countBy(MfaFactor, { accountId, identityId });
    if (existing >= maxFactors) throw new DomainError('mfa.too_many_factors');
    const at = now();
    const { id, type, label } = factor;
    const signsIn = type === 'webauthn' && (await mayPassOn(tx, { accountId, identityId, amr }));
    const added = { id, type, label, signsIn, enrolledAt: at, lastUsedAt: at };
    await tx.insert(MfaFactor, { ...factor, ...added, accountId, identityId }).catch((error) => {
      const isThere = constraintsOfSame.some((name) => violates(error, name));
      throw isThere ? new DomainError('mfa.already_enrolled') : error;
    });
    // Also for a later factor: if the Environment did not take the earlier ones, the time to enroll began again.
    await settleEnrollment(tx, scope, identityId, at);
    await recordAndMail(tx, scope, 'identity.mfa_enrolled', { identityId, factor });
    return { isFirst: existing === 0, added };
  }

  return {
    /**
     * Adds a factor for a person who is signed in; the first one comes with recovery codes, if the Environment accepts
     * them. The caller has checked that the sign-in is recent and strong enough; it is checked again, after ten slow
     * hashes.
     * @param codes the recovery codes; random by default
     * @throws DomainError mfa.already_enrolled, mfa.too_many_factors; mfa.factor_not_allowed where the Environment does
     *   not take the kind, or it adds nothing to this sign-in; auth.invalid_credentials if the session has ended
     *   meanwhile, auth.reauthentication_required if a first factor was added meanwhile
     */
    async enroll(person: OwnProofOf, factor: NewFactor, codes?: string[]): Promise<Enrollment> {
      const { accountId, identityId } = person;
      const before = await mfaStateOf(db, person);
      const work = (take: () => RecoveryCodeSet) =>
        db.transaction({ accountId }, async (tx) => {
          const { allowed, enrolled, byMail, amr } = await lockOwnProof(tx, person, now());
          // Another request has added the first factor meanwhile.
          if (before.enrolled === null && enrolled !== null) throw new DomainError('auth.reauthentication_required');
          const isTaken = allowed.includes(factor.type) && !(factor.type === 'email_otp' && byMail);
          if (!isTaken) throw new DomainError('mfa.factor_not_allowed');
          return enrollIn(tx, environmentScopeOf(person), identityId, { factor, amr, take });
        });
      return recoveryCodes.withSet(bringsRecoveryCodes(before), work, codes);
    },

    /**
     * Adds a factor as `enroll` does, in a transaction that has already checked the person: a sign-in has no session
     * yet.
     * @param amr of that sign-in (RFC 8176)
     */
    enrollIn,

    list: ({ accountId }: AccountScope, identityId: string): Promise<FactorSummary[]> =>
      db.transaction({ accountId }, (tx) =>
        tx.find(MfaFactor, {
          select: { id: true, type: true, label: true, signsIn: true, enrolledAt: true, lastUsedAt: true },
          where: { accountId, identityId },
          order: { enrolledAt: 'asc', id: 'asc' },
        }),
      ),

    /**
     * Renames a factor of a person who is signed in. That neither opens anything nor locks anybody out, so it needs no
     * proof.
     * @throws DomainError mfa.factor_not_found, auth.invalid_credentials, identity.in_production
     */
    rename: (person: OwnProofOf, factorId: string, label: string): Promise<FactorSummary> =>
      db.transaction({ accountId: person.accountId }, async (tx) => {
        const { accountId, identityId } = person;
        await lockOwnSession(tx, person);
        const factor = await tx.findOneBy(MfaFactor, { accountId, identityId, id: factorId });
        if (!factor) throw new DomainError('mfa.factor_not_found');
        if (factor.label === label) return factor;
        await tx.update(MfaFactor, { accountId, identityId, id: factorId }, { label });
        await recordEvent(tx, 'auth.mfa_renamed', {
          ...environmentScopeOf(person),
          resourceId: identityId,
          actor: { type: 'identity', id: identityId },
          metadata: { factor_id: factorId, factor: factor.type },
        });
        return { ...factor, label };
      }),

    /** Whether `remove` would refuse, since it is the last factor and one is required. */
    isLastRequired: (scope: EnvironmentScope, identityId: string, factorId: string): Promise<boolean> =>
      db.transaction({ accountId: scope.accountId }, async (tx) => {
        const { allowed } = await mfaStateOf(dbWithin(tx), { ...scope, identityId });
        const all = await tx.find(MfaFactor, {
          select: { id: true, type: true },
          where: { accountId: scope.accountId, identityId },
        });
        const factor = all.find(({ id }) => id === factorId);
        const left = all.filter((one) => one !== factor).map(({ type }) => type);
        return (
          factor !== undefined && isLastOf(allowed, factor.type, left) && (await isRequired(tx, scope, identityId))
        );
      }),

    /**
     * Removes a factor of a person who is signed in; with the last one, the recovery codes. The caller has checked the
     * sign-in.
     * @throws DomainError mfa.factor_not_found; mfa.last_factor for the last that the Environment accepts, if it or an
     *   organization of theirs requires one; auth.invalid_credentials, auth.reauthentication_required as `enroll`
     */
    remove: (person: OwnProofOf, factorId: string): Promise<void> =>
      db.transaction({ accountId: person.accountId }, async (tx) => {
        const { accountId, identityId } = person;
        const scope = environmentScopeOf(person);
        const { amr } = await lockOwnProof(tx, person, now());
        const factor = await tx.findOneBy(MfaFactor, { accountId, identityId, id: factorId });
        if (!factor) throw new DomainError('mfa.factor_not_found');
        await tx.delete(MfaFactor, { accountId, identityId, id: factorId });
        // It may be the key with which this session began, and the others would then say that all is well: `mayPassOn`.
        if (factor.type === 'webauthn' && !factor.signsIn && firstFactorOf(amr) === 'passkey')
          await withdrawPasskeys(tx, keysOfIdentities, identityId);
        const { allowed, enrolled: left } = await lockMfaState(tx, { ...scope, identityId });
        if (isLastOf(allowed, factor.type, left ?? []) && (await isRequired(tx, scope, identityId)))
          throw new DomainError('mfa.last_factor');
        if (left === null) {
          await tx.delete(RecoveryCode, { accountId, identityId });
          await settleLastRemoval(tx, scope, identityId, now());
        }
        await distrustDevices(tx, { accountId }, identityId);
        await recordAndMail(tx, scope, 'identity.mfa_removed', { identityId, factor });
      }),
  };

  async function isRequired(tx: EntityManager, { accountId, environmentId }: EnvironmentScope, identityId: string) {
    const required = await tx.query<unknown[]>(requiring, [accountId, environmentId, identityId]);
    return required.length > 0;
  }

  async function enrollIn(
    tx: EntityManager,
    scope: EnvironmentScope,
    identityId: string,
    { factor, amr, take }: { factor: NewFactor; amr: readonly string[]; take: () => RecoveryCodeSet },
  ): Promise<Enrollment> {
    const { isFirst, added } = await add(tx, scope, identityId, { factor, amr });
    if (!isFirst) return { factor: added, recoveryCodes: null };
    const { allowed } = await lockMfaState(tx, { ...scope, identityId });
    if (!bringsRecoveryCodes({ allowed, enrolled: null })) return { factor: added, recoveryCodes: null };
    return { factor: added, recoveryCodes: await recoveryCodes.renew(tx, scope, identityId, take()) };
  }

  async function recordAndMail(
    tx: EntityManager,
    scope: EnvironmentScope,
    action: 'identity.mfa_enrolled' | 'identity.mfa_removed',
    { identityId, factor: { id, type } }: { identityId: string; factor: Pick<MfaFactor, 'id' | 'type'> },
  ) {
    const whom = { identityId, actor: { type: 'identity', id: identityId } } as const;
    const [event] = await recordOfIdentity(tx, scope, whom, [{ action, metadata: { factor_id: id, factor: type } }]);
    await noticeEmail(tx, scope, event as string, now()); // one event: it is about one person
  }
}

/** Returns whether an Environment that accepts the `allowed` kinds accepts none of those that are left. */
const isLastOf = (allowed: readonly FactorKind[], type: MfaFactor['type'], left: readonly MfaFactor['type'][]) =>
  allowed.includes(type) && !left.some((kind) => allowed.includes(kind));

/**
 * Violated when an app's enrollment is confirmed twice, by a second mailbox, and by a key that is registered already.
 */
const constraintsOfSame = ['mfa_factors_pkey', 'mfa_factors_one_email_otp', 'mfa_factors_credential'];

export type Factors = ReturnType<typeof createFactors>;
