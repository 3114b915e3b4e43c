import type { FactorKind } from '../../../entities/environment-settings.js';
import type { Clock } from '../../platform/clock.js';
import { environmentScopeOf } from '../../platform/scope.js';
import type { Client } from '../oidc/clients.js';
import { type Acr, aal1, aal2, type FirstFactor, isProvidersWord } from '../sessions/first-factor.js';
import { showsSecondFactor } from './assurance.js';
import type { MfaGraces } from './grace.js';
import { choicesAfter, type EnrollableKind, type Standing } from './standing.js';
import type { TrustedDevices } from './trusted-devices.js';

export type { EnrollableKind };

/** What of second factors a sign-in needs after its first one (spec.md, "States and transitions"; contract §3, §10). */
export type MfaDecision =
  | { step: 'done'; amr: string[]; acr: Acr; secondFactorAt: Date | null }
  /** `isForAal2`: with those that make it, since the client prefers it and the person has one. */
  | { step: 'challenge'; factors: FactorKind[]; isForAal2?: true }
  /** `until`: it can be put off until then; null: the sign-in does not go on without. */
  | { step: 'enroll'; factors: EnrollableKind[]; until: Date | null }
  /** The time to enroll is over, and there is no factor to show; an admin's reset gives it anew. */
  | { step: 'refused' };

export interface MfaQuestion {
  client: Pick<Client, 'accountId' | 'applicationId' | 'environmentId'> & {
    settings: Pick<Client['settings'], 'mfaPolicy' | 'mfaGracePeriodDays' | 'mfaTrustedDeviceDays'>;
  };
  first: FirstFactor;
  /** What the person has of second factors. */
  standing: Standing;
  /** Value of the `trusted_device` cookie. */
  device: string | null;
  /** Whether the client asks for `urn:gatehouse:aal2`. */
  requiresAal2: boolean;
  /** Whether it would rather have that, and takes `urn:gatehouse:aal1`. */
  prefersAal2?: boolean;
  /** Whether an enrolled factor was proved already, though not one that is enough. */
  hasProvedFactor?: boolean;
  /** Whether it is for what the owner alone may change, for which a browser that is trusted is not enough. */
  isOwnerWanted?: boolean;
  /** Whether somebody else than the Environment requires MFA of this person. */
  requiresMfa?: boolean;
}

export interface MfaGateDeps {
  graces: Pick<MfaGraces, 'find' | 'start'>;
  devices: Pick<TrustedDevices, 'recognize'>;
  now: Clock;
}

/** Whether all that somebody can show is a mailed code, and what stands in for one. */
const isMailedAlone = (provable: readonly FactorKind[]) =>
  provable.includes('email_otp') && provable.every((kind) => kind === 'email_otp' || kind === 'recovery_code');

/** Decides, and starts the time to enroll with the first sign-in that needs a factor and has none. */
export function createMfaGate({ graces, devices, now }: MfaGateDeps) {
  return {
    async decide({
      client,
      first,
      standing,
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
      const isForAal2 = prefersAal2 && choicesAfter({ ...first, requiresAal2: true }, standing).usable.length > 0;
      const requiresAal2 = asked.requiresAal2 || isForAal2;
      const isShown = showsSecondFactor(first);
      const counts = isOwnerWanted ? isShown : secondFactorAt !== null;
      const isEnough = requiresAal2 ? acr === aal2 : mfaPolicy === 'off' || counts;
      const { enrollable, usable, provable } = choicesAfter({ ...first, requiresAal2 }, standing);
      // Whose factors they are is not for a provider to say: the owner shows one of them.
      const canShow = [...usable, ...provable].some((kind) => kind !== 'recovery_code'); // which stands in for one
      const owesOwn = isOwnerWanted && isProvidersWord(first) && canShow;
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
      // Whoever has mailed codes alone shows one for what the owner alone may change, and no more: it never makes aal2.
      if (isOwnerWanted && isMailedAlone(provable)) {
        if (!hasProved) return { step: 'challenge', factors: provable };
        if (mfaPolicy !== 'required' && amr.includes('otp')) return done;
      }
      if (enrollable.length === 0) {
        // Whom a provider for tests keeps from adding one shows, once, the one that they have, though a sign-in here would not take it.
        const owes = standing.isTestOfProduction && ssoConnectionId !== null && provable.length > 0 && !hasProved;
        return owes ? { step: 'challenge', factors: provable } : done;
      }
      const grace = mfaPolicy === 'required' ? await graceOf(scope, identityId, days) : null;
      // Asking for aal2 is no way around a deadline that is over. It is nobody's who has a factor, though none that is enough.
      const isOver = grace?.over === true;
      if (isOver && provable.length === 0 && !hasProved) return { step: 'refused' };
      const until = requiresAal2 || isOver ? null : (grace?.expiresAt ?? null);
      // A session that was fully issued while the time runs stays so; it is the next sign-in that is asked again.
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
