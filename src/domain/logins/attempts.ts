import type { FirstFactorMethod } from '../../../entities/pending-sign-in.js';
import { after, type Clock, days, minutes, seconds } from '../../platform/clock.js';
import type { Db, EnvironmentScope } from '../../platform/db.js';
import { createLimitsInTurn, type LimitPolicy } from '../../platform/limiter.js';
import { subscriberOf } from '../../platform/subscriber.js';
import { countedAddress } from '../counted-address.js';
import { DomainError } from '../errors.js';
import { recordEvent } from '../events.js';

export interface Attempt {
  environmentId: string;
  email: string;
  ipAddress: string;
}

/** An attempt that was counted and may be looked at. */
export interface CountedAttempt extends Attempt {
  /** Where this is the last failure that the day allows: when the next attempt is allowed. */
  locksUntil: Date | null;
}

export interface Failure {
  /** Whose address it was, in this Environment; null for nobody's. */
  identityId: string | null;
  method: FirstFactorMethod;
}

export interface Attempts {
  /** Counts an attempt before it is looked at, so that parallel guesses cannot slip through. @throws DomainError rate_limit.exceeded */
  begin(attempt: Attempt): Promise<CountedAttempt>;
  /** Writes a failure down; the day's last one locks the identity. */
  failed(scope: EnvironmentScope, attempt: CountedAttempt, failure: Failure): Promise<void>;
  /** Takes it back, and forgets the day's failures. */
  succeeded(attempt: Attempt): Promise<void>;
  /** Lets an identity try again, whatever was counted: its person has proved who they are in another way. */
  forgive(scope: EnvironmentScope, identity: { identityId: string; email: string }): Promise<void>;
}

/** Failures for an address in an Environment: a burst, and what slow guessing amounts to. An unknown address counts alike. */
const byAddress: LimitPolicy = { name: 'sign-in-address', points: 10, windowSeconds: minutes(15) / 1000 };
const byDay: LimitPolicy = { name: 'sign-in-day', points: 50, windowSeconds: days(1) / 1000 };
/** Failures from a network address, whoever is tried. */
const byIp: LimitPolicy = { name: 'sign-in-ip', points: 100, windowSeconds: minutes(15) / 1000 };

const keyOf = ({ environmentId, email }: Pick<Attempt, 'environmentId' | 'email'>) =>
  `${environmentId} ${countedAddress(email)}`;

/** Limits on guessing what proves a first factor, passwords and emailed codes together (docs/decisions/0006). */
export function createAttempts({ db, enabled, now }: { db: Db; enabled: boolean; now: Clock }): Attempts {
  const counters = enabled ? createCounters(db) : null;
  return {
    async begin(attempt) {
      const last = await counters?.count(attempt);
      return { ...attempt, locksUntil: last ? after(now(), seconds(last.resetSeconds)) : null };
    },

    async failed(scope, { locksUntil }, { identityId, method }) {
      await db.transaction(scope, async (tx) => {
        const event = { ...scope, resourceId: identityId, metadata: { method } };
        await recordEvent(tx, 'auth.identity_sign_in_failed', { ...event, outcome: 'failure' });
        if (locksUntil === null || identityId === null) return;
        await tx.query(
          `update environment_memberships set locked_until = $3 where environment_id = $1 and identity_id = $2`,
          [scope.environmentId, identityId, locksUntil],
        );
        await recordEvent(tx, 'identity.locked', { ...event, metadata: { locked_until: locksUntil.toISOString() } });
      });
    },

    async succeeded(attempt) {
      await counters?.takeBack(attempt);
    },

    async forgive(scope, { identityId, email }) {
      await counters?.forget({ environmentId: scope.environmentId, email });
      await db.transaction(scope, (tx) =>
        tx.query(
          `update environment_memberships set locked_until = null
where environment_id = $1 and identity_id = $2 and locked_until is not null`,
          [scope.environmentId, identityId],
        ),
      );
    },
  };
}

// In this order, and only what the one before let through: who is refused for where they are locks nobody's address, and a
// burst that is refused anyway locks it for no day.
const policies = [byIp, byAddress, byDay] as const;

function createCounters(db: Db) {
  const limits = createLimitsInTurn(db, policies);
  const ofAddress = createLimitsInTurn(db, [byAddress, byDay]);
  const keysOf = (attempt: Attempt) => [subscriberOf(attempt.ipAddress), keyOf(attempt), keyOf(attempt)];
  return {
    /** @returns the day's state where this was its last. @throws DomainError rate_limit.exceeded */
    async count(attempt: Attempt) {
      const states = await limits.consume(keysOf(attempt));
      states.forEach((state, i) => {
        if (state && !state.allowed)
          throw new DomainError('rate_limit.exceeded', {
            retryAfter: state.resetSeconds,
            limit: policies[i] as LimitPolicy,
          });
      });
      const day = states.at(-1);
      return day?.remaining === 0 ? day : null;
    },
    takeBack: (attempt: Attempt) => limits.takeBack(keysOf(attempt), ['one', 'one', 'all']),
    forget: (attempt: Pick<Attempt, 'environmentId' | 'email'>) =>
      ofAddress.takeBack([keyOf(attempt), keyOf(attempt)], ['all', 'all']),
  };
}
