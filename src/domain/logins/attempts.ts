import type { FirstFactorMethod } from '../../../entities/pending-sign-in.js';
import { type Clock, minutes } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import { subscriberOf } from '../../platform/database/subscriber.js';
import type { AccountScope, EnvironmentScope } from '../../platform/scope.js';
import { countedAddress } from '../counted-address.js';
import { recordEvent, recordEvents } from '../events/record.js';
import { createGuesses } from '../guesses.js';

/** Whom a guess is at: an Identity has one password in its Account, whichever Environment it is tried in. */
interface Tried {
  accountId: string;
  email: string;
}

export interface Attempt extends Tried {
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
  /** @throws DomainError rate_limit.exceeded where no attempt at the address would be looked at, and no code is worth mailing */
  assertOpen(tried: Tried): Promise<void>;
  /** Until when none at the address would be looked at, be it for a quarter of an hour or a day; null where one would be. */
  closedUntil(tried: Tried): Promise<Date | null>;
  /** Looks at one that was counted; what overload or an outage keeps from it is taken back. @throws whatever the look throws */
  look<T>(attempt: Attempt, look: () => Promise<T>): Promise<T>;
  /** Writes a failure down; the day's last one locks the Identity, in every Environment that it is a member of. */
  failed(scope: EnvironmentScope, attempt: CountedAttempt, failure: Failure): Promise<void>;
  /** The same of one that could not have been right: it guessed at nothing, and counts for where it came from alone. */
  missed(scope: EnvironmentScope, attempt: CountedAttempt, failure: Failure): Promise<void>;
  /** Takes it back, and forgets the day's failures. */
  succeeded(attempt: Attempt): Promise<void>;
  /** Takes it back alone: it was no failure, and proved nothing. */
  withdrawn(attempt: Attempt): Promise<void>;
  /** Lets an identity try again, whatever was counted: its person has proved who they are in another way. */
  forgive(scope: AccountScope, identity: { identityId: string; email: string }): Promise<void>;
}

// Whoever changes an Identity, or whom it belongs to, holds its row first; so do these, and nobody waits in a circle.
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

/** Limits on guessing what proves a first factor, passwords and emailed codes together (docs/decisions/0006). */
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
      // By the address: it may be of somebody who is no member here, and of other Environments.
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
