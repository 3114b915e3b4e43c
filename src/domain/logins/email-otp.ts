import type { EnvironmentSettings } from '../../../entities/environment-settings.js';
import { after, type Clock, hours } from '../../platform/clock.js';
import { newSecret } from '../../platform/crypto/one-time-secret.js';
import { openSealedJson } from '../../platform/crypto/sealed-json.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import type { Db } from '../../platform/database/db.js';
import { createLimiter, type LimitPolicy } from '../../platform/limiter.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { countedAddress } from '../addresses/counted-address.js';
import { DomainError } from '../errors.js';
import { countUse, givingBack } from '../limits/rate-limits.js';
import { recordCapped } from '../sign-ups/sign-up.js';
import { addressTyped, isMailAddress } from './address.js';
import type { Attempts } from './attempts.js';
import { createEmailOtpAdmission, isTheirs, type Member } from './email-otp-admission.js';
import { type EmailedCodes, emailedCodeLife, type SpentCode } from './emailed-codes.js';

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

/** What a typed code leads to. */
interface Checked {
  /** Whom it lets in; null for nobody. */
  identityId: string | typeof capped | null;
  member: Member | null;
  /** The code, if it is one that was spent a moment ago. */
  spent: SpentCode | null;
  /** Whether there was a valid code to be guessed. */
  isGuess: boolean;
}

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
  const admission = createEmailOtpAdmission({ db, now });
  const contextOf = (bound: string) => `email-otp-login\n${bound}`;

  /** What the page's token holds; null if it was altered, or belongs to another authorization request. */
  function read(token: string, bound: string): Flow | null {
    return token.length > 2048 ? null : openSealedJson(sealing, token, contextOf(bound));
  }

  /** Redeems a code and lets its person in. The code stays valid if overload or an outage keeps them from coming in. */
  async function check(
    scope: EnvironmentScope,
    { flow, email }: Flow,
    code: string,
    dailyCap: number | null,
  ): Promise<Checked> {
    const typed = { purpose: 'login', flow, code } as const;
    const redeemed = await emailedCodes.redeem(scope, typed);
    const right = typeof redeemed === 'object' ? redeemed : null;
    const spent = right ? null : await emailedCodes.justSpent(scope, typed);
    const admitting = async (): Promise<Pick<Checked, 'member' | 'identityId'>> => {
      const member = await admission.find(scope, email);
      const identityId = right && (await admission.admit(scope, right, member, dailyCap).catch(cappedOr));
      return { member, identityId };
    };
    const admitted = await givingBack(admitting, async () => right && emailedCodes.giveBack(right.id));
    return { ...admitted, spent, isGuess: redeemed !== 'void' };
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
      const member = await admission.find(scope, email);
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
    async verify(
      scope: EnvironmentScope,
      { token, code, bound, ipAddress, dailyCap }: VerifyEmailOtp,
    ): Promise<EmailOtpResult> {
      const flow = read(token, bound);
      if (!flow) return { outcome: 'refused', email: '', isVoid: false };
      const { email } = flow;
      const attempt = await attempts.begin({ accountId: scope.accountId, email, ipAddress });
      const checking = () => check(scope, flow, code, dailyCap);
      const { spent, member, identityId, isGuess } = await attempts.look(attempt, checking);
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
