import type { FactorKind } from '../../../entities/environment-settings.js';
import type { Clock } from '../../platform/clock.js';
import { environmentScopeOf } from '../../platform/scope.js';
import type { Client } from '../oidc/clients/clients.js';
import { type Acr, aal1, aal2, type FirstFactor, isOnlyAsserted } from '../sessions/first-factor.js';
import { showsSecondFactor } from './assurance.js';
import type { MfaGraces } from './grace/grace.js';
import { choicesAfter, type EnrollableKind, type MfaState } from './state.js';
import type { TrustedDevices } from './trusted-devices.js';

export type { EnrollableKind };

/** What second factors a sign-in needs after its first factor (spec.md, "States and transitions"; contract §3, §10). */
export type MfaDecision =
  | { step: 'done'; amr: string[]; acr: Acr; secondFactorAt: Date | null }
  /** `isForAal2`: with factors that reach aal2, since the client prefers it and the person has one. */
  | { step: 'challenge'; factors: FactorKind[]; isForAal2?: true }
  /** `until`: enrolling can be postponed until then; null: the sign-in does not continue without it. */
  | { step: 'enroll'; factors: EnrollableKind[]; until: Date | null }
  /** The deadline for enrolling has passed, and the person has no factor; an administrator's reset sets a new one. */
  | { step: 'refused' };

export interface MfaQuestion {
  client: Pick<Client, 'accountId' | 'applicationId' | 'environmentId'> & {
    settings: Pick<Client['settings'], 'mfaPolicy' | 'mfaGracePeriodDays' | 'mfaTrustedDeviceDays'>;
  };
  first: FirstFactor;
  /** The person's second factors. */
  mfa: MfaState;
  /** Value of the `trusted_device` cookie. */
  device: string | null;
  /** Whether the client asks for `urn:gatehouse:aal2`. */
  requiresAal2: boolean;
  /** Whether it prefers aal2, and accepts `urn:gatehouse:aal1`. */
  prefersAal2?: boolean;
  /** Whether an enrolled factor was proved already, but not one that is enough. */
  hasProvedFactor?: boolean;
  /** Whether it is for a change that only the owner may make, for which a trusted browser is not enough. */
  isOwnerWanted?: boolean;
  /** Whether an organization of the person requires MFA, whatever the Environment does. */
  requiresMfa?: boolean;
}

export interface MfaGateDeps {
  graces: Pick<MfaGraces, 'find' | 'start'>;
  devices: Pick<TrustedDevices, 'recognize'>;
  now: Clock;
}

/** Whether a person can only show an emailed code, and recovery codes, which replace a factor. */
const isMailedAlone = (provable: readonly FactorKind[]) =>
  provable.includes('email_otp') && provable.every((kind) => kind === 'email_otp' || kind === 'recovery_code');

/** Decides, and starts the time to enroll at the first sign-in that needs a factor when the person has none. */
export function createMfaGate({ graces, devices, now }: MfaGateDeps) {
  return {
    async decide({
      client,
      first,
      mfa,
      device,
      prefersAal2 = false,
      hasProvedFactor = false,
      isOwnerWanted = false,
      requiresMfa = false,
      ...asked
    }: MfaQuestion): Promise<MfaDecision> {
      const { settings } = client;
      const { mfaGracePeriodDays: days, mfaTrustedDeviceDays } = settings;
      const mfaPolicy = requiresMfa ? 'required' : settings.mfaPolicy;
      const { identityId, amr, acr, secondFactorAt, ownFactorAt, ssoConnectionId = null } = first;
      const scope = environmentScopeOf(client);
      const done: MfaDecision = { step: 'done', amr, acr, secondFactorAt };
      const isForAal2 = prefersAal2 && choicesAfter({ ...first, requiresAal2: true }, mfa).usable.length > 0;
      const requiresAal2 = asked.requiresAal2 || isForAal2;
      const isShown = showsSecondFactor(first);
      const counts = isOwnerWanted ? isShown : secondFactorAt !== null;
      const isEnough = requiresAal2 ? acr === aal2 : mfaPolicy === 'off' || counts;
      const { enrollable, usable, provable } = choicesAfter({ ...first, requiresAal2 }, mfa);
      // A provider cannot vouch for the owner's own factors: the owner shows one of them.
      const canShow = [...usable, ...provable].some((kind) => kind !== 'recovery_code'); // which only replaces a factor
      const owesOwn = isOwnerWanted && isOnlyAsserted(first) && canShow;
      if (isEnough && !owesOwn) return done;

      if (usable.length > 0) {
        const isTrusted =
          !(requiresAal2 || isOwnerWanted) &&
          mfaTrustedDeviceDays > 0 &&
          (await devices.recognize(scope, identityId, device));
        if (isTrusted) return { ...done, acr: aal1, secondFactorAt: now() };
        return { step: 'challenge', factors: usable, ...(isForAal2 && { isForAal2 }) };
      }
      if (owesOwn) return { step: 'challenge', factors: provable };
      // Which level a client gets is its own to check (OpenID Connect Core 3.1.2.1: acr_values is voluntary).
      if (!requiresAal2 && mfaPolicy !== 'required') return done;
      const hasProved = hasProvedFactor || isShown || ownFactorAt !== null;
      // Somebody who only has emailed codes shows one for such a change, and no more: it never reaches aal2.
      if (isOwnerWanted && isMailedAlone(provable)) {
        if (!hasProved) return { step: 'challenge', factors: provable };
        if (mfaPolicy !== 'required' && amr.includes('otp')) return done;
      }
      if (enrollable.length === 0) {
        // Kept from adding a factor by a test Environment's provider, they show, once, the one that they have.
        const owes = mfa.isTestOfProduction && ssoConnectionId !== null && provable.length > 0 && !hasProved;
        return owes ? { step: 'challenge', factors: provable } : done;
      }
      const grace = mfaPolicy === 'required' ? await graceOf(scope, identityId, days) : null;
      // Asking for aal2 is no way around a deadline that is over; it does not concern people who have any factor.
      const isOver = grace?.over === true;
      if (isOver && provable.length === 0 && !hasProved) return { step: 'refused' };
      const until = requiresAal2 || isOver ? null : (grace?.expiresAt ?? null);
      // A session that was issued in full during the time to enroll stays as it is; the next sign-in asks again.
      if (until && first.method === 'session') return done;
      if (provable.length > 0 && !hasProved) return { step: 'challenge', factors: provable };
      return { step: 'enroll', factors: enrollable, until };
    },
  };

  async function graceOf(scope: Parameters<MfaGraces['find']>[0], identityId: string, days: number) {
    return days > 0 ? graces.start(scope, identityId, days) : graces.find(scope, identityId);
  }
}

export type MfaGate = ReturnType<typeof createMfaGate>;
