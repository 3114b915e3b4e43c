import type { EntityManager } from 'typeorm';
import type { EnvironmentSettings } from '../../../entities/environment-settings.js';
import { after, type Clock, hours } from '../../platform/clock.js';
import { actAs } from '../../platform/context.js';
import { newSecret } from '../../platform/crypto/one-time-secret.js';
import { openSealedJson } from '../../platform/crypto/sealed-json.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import type { Db } from '../../platform/database/db.js';
import { violates } from '../../platform/database/postgres-errors.js';
import { createLimiter, type LimitPolicy } from '../../platform/limiter.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { countedAddress } from '../addresses/counted-address.js';
import { identityIdByAddress } from '../addresses/identity-by-address.js';
import { assertStays } from '../erasures/staying.js';
import { DomainError } from '../errors.js';
import { countUse, givingBack } from '../limits/rate-limits.js';
import { type ProvedAddress, settleProvedAddress } from '../passwords/new-password.js';
import { addMembership, countSignUp, createIdentity, recordCapped } from '../sign-ups/sign-up.js';
import { addressTyped, isMailAddress } from './address.js';
import type { Attempts } from './attempts.js';
import { type EmailedCodes, emailedCodeLife, type RightCode } from './emailed-codes.js';

export interface StartEmailOtp {
  email: string;
  /** The part of the authorization request that must not change before the code is entered. */
  bound: string;
  /** From a page that asks for another code, which then replaces the earlier one. */
  token: string | null;
  locale: 'en' | 'de';
  /** Whether entering the code creates an Identity, if nobody has the address. */
  createsIdentities: boolean;
}

export interface StartedEmailOtp {
  /** The `login_token`, without which the code does not work. */
  token: string;
  expiresAt: Date;
}

export interface VerifyEmailOtp {
  token: string;
  code: string;
  bound: string;
  ipAddress: string;
  /** The Environment's `daily_self_signup_cap`, if a first right code creates the Identity; else null. */
  dailyCap: number | null;
}

/**
 * The result of a code. `refused` covers every reason that an outsider must not learn; `email` is where the code was
 * sent, for the next page. `spent`: the code let somebody in within the last minute, and its form was sent again: that
 * proves nothing, and is no failed attempt; `identityId` is null while the Identity is being created. `capped`: the
 * code was right, but the Environment accepts no more sign-ups today. `isVoid`: no code works in this sign-in any more,
 * whether or not somebody has the address.
 */
export type EmailOtpResult =
  | { outcome: 'accepted'; email: string; identityId: string }
  | { outcome: 'spent'; email: string; identityId: string | null; spentAt: Date }
  | { outcome: 'capped'; email: string }
  | { outcome: 'refused'; email: string; isVoid: boolean };

export interface EmailOtpDeps {
  db: Db;
  sealing: Sealing;
  emailedCodes: EmailedCodes;
  attempts: Attempts;
  rateLimits: boolean;
  now: Clock;
}

/** The limit of mails to an address in an Environment, for all requesters, whether or not somebody has it. */
const mailsByAddress: LimitPolicy = { name: 'email-otp-address', points: 10, windowSeconds: hours(1) / 1000 };

/** Instead of the Identity that a right code would create, if the day's cap is reached. */
const capped = Symbol('capped');
function cappedOr(error: unknown): typeof capped {
  if (error instanceof DomainError && error.code === 'sign_up.daily_cap_reached') return capped;
  throw error;
}

interface Flow {
  /** 256 bits; identifies the codes that were mailed for this sign-in. */
  flow: string;
  email: string;
}

interface Member {
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

/**
 * Whether the first right code for an unknown address creates its Identity: if there is no sign-up with a password.
 */
export const createsIdentities = ({
  passwordLoginEnabled,
  emailOtpLoginEnabled,
  allowSelfSignup,
}: Pick<EnvironmentSettings, 'passwordLoginEnabled' | 'emailOtpLoginEnabled' | 'allowSelfSignup'>): boolean =>
  !passwordLoginEnabled && emailOtpLoginEnabled && allowSelfSignup;

/** Sign-in with an emailed code. Answer and work are the same whether or not somebody has the address (contract §4). */
export function createEmailOtpLogin({ db, sealing, emailedCodes, attempts, rateLimits, now }: EmailOtpDeps) {
  const mails = rateLimits ? createLimiter(db, mailsByAddress) : null;
  const contextOf = (bound: string) => `email-otp-login\n${bound}`;

  /** What the page's token holds; null if it was altered, or belongs to another authorization request. */
  function read(token: string, bound: string): Flow | null {
    return token.length > 2048 ? null : openSealedJson(sealing, token, contextOf(bound));
  }

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
      const id = await identityIdByAddress(tx, scope, email);
      if (id === null) {
        const names = { firstName: null, lastName: null };
        return createIdentity(tx, scope, { email, passwordHash: null, verified: true, ...names, now: at });
      }
      await assertStays(tx, { accountId: scope.accountId, id });
      await confirmAddress(tx, scope, id, email);
      await addMembership(tx, scope, id, { now: at, joined: true });
      return id;
    });
  }

  async function joinOnce(
    scope: EnvironmentScope,
    email: string,
    cap: number,
    { isAgain = false } = {},
  ): Promise<string | null> {
    try {
      return await join(scope, email, cap);
    } catch (error) {
      const isTaken = error instanceof DomainError && error.code === 'identity.email_taken';
      if (!isTaken && !violates(error, 'environment_memberships_one_per_identity')) throw error;
      const faster = await find(scope, email); // another code of the same person, at the same time
      if (faster) return faster.isActive ? faster.identityId : null;
      // Or they were created elsewhere in the Account at the same time, and can be added as a member now.
      return isAgain ? null : joinOnce(scope, email, cap, { isAgain: true });
    }
  }

  /** Whether the code was mailed to this person: not if the address has passed to somebody else since. */
  const isTheirs = (right: RightCode, member: Member | null) =>
    right.identityId === null ? right.email !== null : right.identityId === member?.identityId;

  /** The Identity that a right code lets in; null for none. @throws DomainError sign_up.daily_cap_reached */
  async function admit(scope: EnvironmentScope, right: RightCode, member: Member | null, cap: number | null) {
    if (!isTheirs(right, member)) return null;
    if (member) {
      if (!member.isActive) return null;
      const { identityId, isVerified, email } = member;
      if (!isVerified) {
        const { accountId } = scope;
        await db.transaction({ accountId }, (tx) => confirmAddress(tx, scope, identityId, email));
      }
      return identityId;
    }
    return right.email === null || cap === null ? null : joinOnce(scope, right.email, cap);
  }

  return {
    /** Mails a code, if there is somebody to mail it to. @throws DomainError rate_limit.exceeded */
    async start(scope: EnvironmentScope, asked: StartEmailOtp): Promise<StartedEmailOtp> {
      const { bound, locale, createsIdentities } = asked;
      const email = addressTyped(asked.email);
      await attempts.assertOpen({ accountId: scope.accountId, email });
      await countUse(mails, `${scope.environmentId} ${countedAddress(email)}`);
      const before = asked.token === null ? null : read(asked.token, bound);
      const isSame = before?.email.toLowerCase() === email.toLowerCase();
      const flow = before && isSame ? before.flow : newSecret();
      const member = await find(scope, email);
      await db.transaction(scope, (tx) =>
        emailedCodes.send(tx, scope, {
          purpose: 'login',
          flow,
          identityId: member?.isActive ? member.identityId : null,
          email: createsIdentities && !member && isMailAddress(email) ? email : null,
          locale,
        }),
      );
      const token = sealing.seal(JSON.stringify({ flow, email } satisfies Flow), contextOf(bound));
      return { token, expiresAt: after(now(), emailedCodeLife) };
    },

    /** Spends a code. @throws DomainError rate_limit.exceeded */
    async verify(scope: EnvironmentScope, tried: VerifyEmailOtp): Promise<EmailOtpResult> {
      const { token, code, bound, ipAddress, dailyCap } = tried;
      const flow = read(token, bound);
      if (!flow) return { outcome: 'refused', email: '', isVoid: false };
      const { email } = flow;
      const attempt = await attempts.begin({ accountId: scope.accountId, email, ipAddress });
      const typed = { purpose: 'login', flow: flow.flow, code } as const;
      const { spent, member, identityId, isGuess } = await attempts.look(attempt, async () => {
        const redeemed = await emailedCodes.redeem(scope, typed);
        const right = typeof redeemed === 'object' ? redeemed : null;
        const spent = right ? null : await emailedCodes.justSpent(scope, typed);
        const admitting = async () => {
          const member = await find(scope, email);
          return {
            member,
            identityId: right && (await admit(scope, right, member, dailyCap).catch(cappedOr)),
          } as const;
        };
        const admitted = await givingBack(admitting, async () => right && emailedCodes.giveBack(right.id));
        return { spent, ...admitted, isGuess: redeemed !== 'void' } as const;
      });
      if (identityId === capped) {
        await attempts.withdrawn(attempt);
        await recordCapped(db, scope);
        return { outcome: 'capped', email };
      }
      if (spent && isTheirs(spent, member) && member?.isActive !== false) {
        await attempts.succeeded(attempt);
        return { outcome: 'spent', email, identityId: member?.identityId ?? null, spentAt: spent.consumedAt };
      }
      if (identityId === null) {
        const failure = { identityId: member?.identityId ?? null, method: 'email_otp' } as const;
        await (isGuess ? attempts.failed : attempts.missed)(scope, attempt, failure);
        return { outcome: 'refused', email, isVoid: !isGuess };
      }
      await attempts.succeeded(attempt);
      return { outcome: 'accepted', email, identityId };
    },
  };
}

export type EmailOtpLogin = ReturnType<typeof createEmailOtpLogin>;
