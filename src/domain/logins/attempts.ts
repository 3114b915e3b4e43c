import type { FirstFactorMethod } from '../../../entities/pending-sign-in.js';
import { type Clock, minutes } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import { subscriberOf } from '../../platform/database/subscriber.js';
import type { AccountScope, EnvironmentScope } from '../../platform/scope.js';
import { countedAddress } from '../addresses/counted-address.js';
import { recordEvent, recordEvents } from '../events/record.js';
import { createGuesses } from '../limits/guesses.js';

/** The target of a guess: an Identity has one password in its Account, for all Environments. */
interface Tried {
  accountId: string;
  email: string;
}

export interface Attempt extends Tried {
  ipAddress: string;
}

/** An attempt that was counted and may be checked. */
export interface CountedAttempt extends Attempt {
  /** If this is the last failure that the day allows: when the next attempt is allowed. */
  locksUntil: Date | null;
}

export interface Failure {
  /** The Identity with the address in this Environment; null if nobody has it. */
  identityId: string | null;
  method: FirstFactorMethod;
}

export interface Attempts {
  /**
   * Counts an attempt before it is checked, so that parallel guesses cannot slip through.
   * @throws DomainError rate_limit.exceeded
   */
  begin(attempt: Attempt): Promise<CountedAttempt>;
  /**
   * @throws DomainError rate_limit.exceeded if no attempt at the address would be checked, so that mailing a code is no
   *   use
   */
  assertOpen(tried: Tried): Promise<void>;
  /**
   * Until when no attempt at the address would be checked, for a quarter of an hour or for the day; null if one would
   * be.
   */
  closedUntil(tried: Tried): Promise<Date | null>;
  /**
   * Checks an attempt that was counted; takes it back if overload or an outage keeps it from being checked.
   * @throws whatever `look` throws
   */
  look<T>(attempt: Attempt, look: () => Promise<T>): Promise<T>;
  /** Records a failure; the day's last one locks the Identity in all of its Environments. */
  failed(scope: EnvironmentScope, attempt: CountedAttempt, failure: Failure): Promise<void>;
  /**
   * Records an attempt that could not have been right: it is no guess at a secret, and only counts for its network
   * address.
   */
  missed(scope: EnvironmentScope, attempt: CountedAttempt, failure: Failure): Promise<void>;
  /** The attempt was right: takes it back, and forgets the day's failures. */
  succeeded(attempt: Attempt): Promise<void>;
  /** The attempt was not wrong, but proves nothing: takes it back, and keeps the day's failures. */
  withdrawn(attempt: Attempt): Promise<void>;
  /** Forgets all attempts at an Identity, whose person has proved in another way who they are. */
  forgive(scope: AccountScope, identity: { identityId: string; email: string }): Promise<void>;
}

// Everybody locks an Identity's row before its memberships; so do these statements, and nobody waits in a circle.
const lock = `
with held as (select id from identities where account_id = $1 and id = (select gatehouse_identity_id($1, $2::citext)) for no key update)
update environment_memberships m set locked_until = $3 from held, environments e
where m.account_id = $1 and m.identity_id = held.id and e.id = m.environment_id and e.account_id = $1
returning m.identity_id as "resourceId", m.environment_id as "environmentId", e.application_id as "applicationId"`;
const unlock = `
with held as (select id from identities where account_id = $1 and id = $2 for no key update)
update environment_memberships m set locked_until = null from held
where m.account_id = $1 and m.identity_id = held.id and m.locked_until is not null`;

interface Locked {
  resourceId: string;
  environmentId: string;
  applicationId: string;
}

/** Limits on guessing a first factor, passwords and emailed codes together (docs/decisions/0006). */
export function createAttempts({ db, enabled, now }: { db: Db; enabled: boolean; now: Clock }): Attempts {
  const guesses = createGuesses<Tried, Attempt>({
    db,
    enabled,
    now,
    burst: 'sign-in-address',
    day: 'sign-in-day',
    accountOf: ({ accountId, email }) => `${accountId} ${countedAddress(email)}`,
    network: {
      name: 'sign-in-ip',
      points: 100,
      windowSeconds: minutes(15) / 1000,
      keyOf: ({ ipAddress }) => subscriberOf(ipAddress),
    },
  });
  async function writeDown(
    scope: EnvironmentScope,
    { email, locksUntil }: CountedAttempt,
    { identityId, method }: Failure,
  ): Promise<void> {
    const { accountId } = scope;
    await db.transaction(locksUntil ? { accountId } : scope, async (tx) => {
      const failure = { ...scope, resourceId: identityId, metadata: { method }, outcome: 'failure' } as const;
      await recordEvent(tx, 'auth.identity_sign_in_failed', failure);
      if (locksUntil === null) return;
      // By address, since its owner may not be a member here, but in other Environments.
      const [locked] = await tx.query<[Locked[], number]>(lock, [accountId, email, locksUntil]);
      const metadata = { locked_until: locksUntil.toISOString() };
      await recordEvents(
        tx,
        'identity.locked',
        locked.map((each) => ({ accountId, ...each, metadata })),
      );
    });
  }

  return {
    begin: async (attempt) => ({ ...attempt, locksUntil: await guesses.begin(attempt) }),

    assertOpen: guesses.assertOpen,
    closedUntil: guesses.closedUntil,
    failed: writeDown,

    async missed(scope, attempt, failure) {
      await guesses.missed(attempt);
      await writeDown(scope, { ...attempt, locksUntil: null }, failure);
    },

    look: guesses.look,
    succeeded: guesses.succeeded,
    withdrawn: guesses.withdrawn,

    async forgive({ accountId }, { identityId, email }) {
      await guesses.forget({ accountId, email });
      await db.transaction({ accountId }, (tx) => tx.query(unlock, [accountId, identityId]));
    },
  };
}
