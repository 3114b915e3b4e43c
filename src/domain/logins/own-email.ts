import type { EntityManager } from 'typeorm';
import { after, type Clock, hours } from '../../platform/clock.js';
import { actAs } from '../../platform/context.js';
import type { Db } from '../../platform/database/db.js';
import { dbWithin } from '../../platform/database/db-within.js';
import { violates } from '../../platform/database/postgres-errors.js';
import { createLimiter } from '../../platform/limiter.js';
import { type EnvironmentScope, environmentScopeOf } from '../../platform/scope.js';
import { countedAddress } from '../addresses/counted-address.js';
import { identityIdByAddress } from '../addresses/identity-by-address.js';
import { defaultLocaleOf } from '../emails/locale.js';
import { queueEmail } from '../emails/queue.js';
import { DomainError } from '../errors.js';
import { recordOfIdentity } from '../events/identity-events.js';
import { recordEvent } from '../events/record.js';
import { createGuesses } from '../limits/guesses.js';
import { countUse } from '../limits/rate-limits.js';
import { noticeEmail } from '../mfa/notices.js';
import { lockOwnProof, lockOwnSession } from '../mfa/own-changes.js';
import { mayPassOn } from '../mfa/webauthn/keys.js';
import { endFormerAddress, hasChangedAddress } from '../one-time/former-address.js';
import { endOtherAccess } from '../passwords/end-access.js';
import type { OwnProofOf } from '../sessions/own-proof.js';
import type { Attempts } from './attempts.js';
import type { EmailedCodes } from './emailed-codes.js';
import { assertMayChangeEmail, mayChangeEmail } from './own-email-rules.js';

export interface OwnEmail {
  /** Whether the person may change their address here at all. */
  isAllowed(scope: EnvironmentScope, whom: { identityId: string; email: string }): Promise<boolean>;
  /** @throws DomainError route.not_found where it is switched off, email_change.managed */
  assertAllowed(scope: EnvironmentScope, whom: { identityId: string; email: string }): Promise<void>;
  /**
   * Mails a code to the new address, and tells the present one. Answer and work are the same for an address that
   * somebody else has, whose owner is told that it stays theirs. A newer request replaces an older one. The caller has
   * checked that the sign-in is recent.
   * @throws DomainError email_change.unchanged, email_change.managed, email_change.domain_managed, route.not_found
   *   where it is not allowed, rate_limit.exceeded, auth.invalid_credentials, auth.reauthentication_required,
   *   mfa.second_factor_only after a sign-in with such a key alone, identity.in_production
   */
  request(person: OwnProofOf, wanted: { email: string; locale: 'en' | 'de' }): Promise<void>;
  /**
   * Changes the address, by the code that was mailed to it, in the session that requested it. That session continues;
   * all others end. A form that is sent twice within a minute is answered like the first time.
   * @throws DomainError email_change.code_invalid, email_change.address_taken if somebody else has it by now, and as
   *   `request`
   */
  confirm(person: OwnProofOf, code: string): Promise<void>;
}

export interface OwnEmailDeps {
  db: Db;
  emailedCodes: EmailedCodes;
  attempts: Pick<Attempts, 'forgive'>;
  rateLimits: boolean;
  now: Clock;
}

const perHour = { windowSeconds: hours(1) / 1000 };
/** How long the former address is kept, which is as long as its mail may take to be sent. */
const mailLife = hours(24);

// A new password makes a request void, also one that this session has set: whoever is shut out by it may have requested
// it. So does another address, which makes all mailed codes void.
const requestedText = `
select i.email::text as "from", c.email::text as "to", i.email_verified_at is not null as "wasVerified",
  i.password_changed_at is not null and i.password_changed_at > c.created_at as "isVoid",
  c.email is distinct from i.email and ${hasChangedAddress('c')} as "isDone"
from identities i join emailed_codes c on c.identity_id = i.id and c.id = $3
where i.account_id = $1 and i.id = $2`;

const applyText =
  'update identities set email = $3, email_verified_at = $4, updated_at = $4 where account_id = $1 and id = $2';

/** A change that was requested, as it stands now. */
interface RequestedChange {
  from: string;
  to: string;
  wasVerified: boolean;
  isVoid: boolean;
  /** Whether the code has changed the address, and `to` is the former one. */
  isDone: boolean;
}

const invalid = () => new DomainError('email_change.code_invalid');

/** Changes the address with which a signed-in person signs in (docs/decisions/0111). */
export function createOwnEmail({ db, emailedCodes, attempts, rateLimits, now }: OwnEmailDeps): OwnEmail {
  const limiter = (name: string, points: number) =>
    rateLimits ? createLimiter(db, { name, points, ...perHour }) : null;
  const requests = limiter('own-email-change', 5);
  // Each request sends a mail to the address, whether or not somebody has it.
  const mails = limiter('own-email-change-address', 3);
  const guesses = createGuesses<string>({
    db,
    enabled: rateLimits,
    now,
    burst: 'own-email-change-code',
    day: 'own-email-change-code-day',
    accountOf: (identityId) => identityId,
  });
  const acting = <T>({ identityId }: OwnProofOf, work: () => Promise<T>) =>
    actAs({ type: 'identity', id: identityId }, work);

  const redeemable = ({ sessionId }: OwnProofOf, code: string) =>
    ({ purpose: 'email_change', flow: sessionId, code }) as const;

  async function storeRequest(
    tx: EntityManager,
    person: OwnProofOf,
    { email, locale }: { email: string; locale: 'en' | 'de' },
  ) {
    const scope = environmentScopeOf(person);
    const { identityId, sessionId } = person;
    const { amr } = await lockOwnProof(tx, person, now());
    // Another address is another way in, to all Environments.
    if (!(await mayPassOn(tx, { ...person, amr }))) throw new DomainError('mfa.second_factor_only');
    const [own] = await tx.query<{ from: string; isUnchanged: boolean }[]>(
      'select email::text as "from", email = $3::citext as "isUnchanged" from identities where account_id = $1 and id = $2',
      [person.accountId, identityId, email],
    );
    if (!own) throw new DomainError('auth.invalid_credentials');
    await assertMayChangeEmail(dbWithin(tx), person, { identityId, from: own.from, to: email });
    if (own.isUnchanged) throw new DomainError('email_change.unchanged');
    const isTaken = (await identityIdByAddress(tx, person, email)) !== null;
    const template = isTaken ? ({ template: 'identity-email-taken' } as const) : {};
    const code = { purpose: 'email_change', flow: sessionId, identityId, email, locale, ...template } as const;
    const { id } = await emailedCodes.send(tx, scope, code);
    const about = { ...scope, resourceId: identityId, metadata: { email_change_id: id } };
    const eventId = await recordEvent(tx, 'auth.identity_email_change_requested', about);
    await noticeEmail(tx, person, eventId, now());
  }

  async function applyChange(tx: EntityManager, person: OwnProofOf, codeId: string): Promise<string> {
    const at = now();
    const { accountId, environmentId, identityId, sessionId: keepSessionId } = person;
    const [requested] = await tx.query<RequestedChange[]>(requestedText, [accountId, identityId, codeId]);
    if (!requested || requested.isVoid) throw invalid();
    const { from, to, wasVerified } = requested;
    await assertMayChangeEmail(dbWithin(tx), person, { identityId, from, to });
    if ((await identityIdByAddress(tx, person, to)) !== null) throw new DomainError('email_change.address_taken');
    await tx.query(applyText, [accountId, identityId, to, at]);
    await endFormerAddress(tx, person, at);
    await recordOfIdentity(tx, person, { identityId }, [
      { action: 'identity.updated', metadata: { changed: wasVerified ? ['email'] : ['email', 'email_verified'] } },
      { action: 'identity.email_verified', metadata: { method: 'own' } },
    ]);
    await endOtherAccess(tx, person, { keepSessionId, now: at });
    await tx.query('update emailed_codes set email = $2, expires_at = $3 where id = $1', [
      codeId,
      from,
      after(at, mailLife),
    ]);
    const locale = await defaultLocaleOf(tx, person);
    const mail = { template: 'identity-email-changed', locale, subjectId: codeId } as const;
    await queueEmail(tx, { ...mail, cause: `own-email-changed/${codeId}`, accountId, environmentId }, at);
    return to;
  }

  /**
   * Checks the code and applies the change, under one lock on the person: whatever makes codes void takes it, too, and
   * comes before both or after both. A refused change leaves the code as it was.
   * @returns the new address; null for a wrong code, whose try is counted with the transaction
   */
  async function settle(tx: EntityManager, person: OwnProofOf, code: string): Promise<string | 'repeated' | null> {
    await lockOwnSession(tx, person);
    const on = dbWithin(tx);
    const redeemed = await emailedCodes.redeem(person, redeemable(person, code), on);
    if (typeof redeemed === 'object' && redeemed.identityId === person.identityId)
      return applyChange(tx, person, redeemed.id);
    return (await isRepeated(tx, person, code)) ? 'repeated' : null;
  }

  /** Whether this code has changed the address just now: its form was sent twice. */
  async function isRepeated(tx: EntityManager, person: OwnProofOf, code: string): Promise<boolean> {
    const spent = await emailedCodes.justSpent(person, redeemable(person, code), dbWithin(tx));
    if (spent?.identityId !== person.identityId) return false;
    const [requested] = await tx.query<RequestedChange[]>(requestedText, [
      person.accountId,
      person.identityId,
      spent.id,
    ]);
    return requested?.isDone === true;
  }

  async function refuse(person: OwnProofOf): Promise<never> {
    const about = { ...environmentScopeOf(person), resourceId: person.identityId, outcome: 'failure' as const };
    await db.transaction(environmentScopeOf(person), (tx) =>
      recordEvent(tx, 'auth.identity_email_change_failed', about),
    );
    throw invalid();
  }

  return {
    isAllowed: (scope, { identityId, email }) => mayChangeEmail(db, scope, { identityId, from: email }),

    assertAllowed: (scope, { identityId, email }) =>
      assertMayChangeEmail(db, scope, { identityId, from: email, to: null }),

    request: (person, wanted) =>
      acting(person, async () => {
        await countUse(requests, person.identityId);
        await countUse(mails, `${person.accountId} ${countedAddress(wanted.email)}`);
        await db.transaction({ accountId: person.accountId }, (tx) => storeRequest(tx, person, wanted));
      }),

    confirm: (person, code) =>
      acting(person, async () => {
        const { identityId, accountId } = person;
        await guesses.begin(identityId);
        const changed = await guesses.look(identityId, () =>
          db.transaction({ accountId }, (tx) => settle(tx, person, code)).catch(asTaken),
        );
        if (changed === null) return refuse(person);
        await guesses.succeeded(identityId);
        if (changed === 'repeated') return;
        // Strangers may have used up the limit of a free address.
        await attempts.forgive(person, { identityId, email: changed });
      }),
  };
}

function asTaken(error: unknown): never {
  throw violates(error, 'identities_email') ? new DomainError('email_change.address_taken') : error;
}
