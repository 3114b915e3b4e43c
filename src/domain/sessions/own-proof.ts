import type { FactorKind, MfaPolicy } from '../../../entities/environment-settings.js';
import type { MfaFactorType } from '../../../entities/mfa-factor.js';
import { type Clock, minutes } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { aal2, authTimeOf, type FirstFactor, isOnlyAsserted } from './first-factor.js';
import type { HostedSession } from './sessions.js';
import type { SignedInPerson } from './signed-in-person.js';

/** How old a sign-in may be for a change that could lock its owner out. */
export const proofLife = minutes(10);

/**
 * By how much a requested new sign-in has to be newer: an identity provider states the time of a new sign-in by a clock
 * that may be a minute behind, and its response still has to count as new here. Otherwise people would be sent back and
 * forth.
 */
const roundTrip = minutes(2);

type ProvedWhen = Pick<FirstFactor, 'authenticatedAt' | 'authTime'>;

/** Whether a sign-in is its person's own proof, or only an identity provider's assertion. */
type FactorOrigin = Pick<FirstFactor, 'ssoConnectionId' | 'ownFactorAt'>;

/** A person who changes their own factors, with the session and the time of its sign-in. */
export type OwnProofOf = SignedInPerson & ProvedWhen;

/** Whether it is enough, or what a new sign-in has to prove. */
export type Proven =
  | { isEnough: true }
  /** `isReachable`: whether a sign-in of this Environment can be enough at all. */
  | { isEnough: false; maxAgeSeconds: number; needsAal2: boolean; isReachable: boolean };

/**
 * What the proof is for, other than a new password: changing factors, or ending other sessions and applications'
 * access; with what the sign-in has proved, and whether this Environment requires MFA.
 */
export interface WantedFor {
  change: 'factors' | 'ending';
  mfaPolicy: MfaPolicy;
  amr: readonly string[];
  secondFactorAt: Date | null;
}

/**
 * A code can only be mailed to a confirmed address: a person with no other factor and no confirmed address has none to
 * show.
 */
const kindsStatement = {
  name: 'kinds_of_own_factors',
  text: `
select distinct type from mfa_factors f where account_id = $1 and identity_id = $2
  and (type <> 'email_otp' or exists (select from identities i where i.id = f.identity_id and i.email_verified_at is not null))`,
};

/**
 * Whether a session is a recent and strong enough proof to change a password or second factors: a sign-in of the last
 * ten minutes, with a second factor if the person has one. A factor that this Environment does not accept counts as
 * well, since a stolen password must neither remove it nor add another. An emailed code never makes aal2 (contract §3),
 * but a person who has nothing else shows it to change factors. The factor has to be shown here: an identity provider
 * that asserts two factors vouches for one Environment, and may belong to a single organization, a customer, while
 * factors and password belong to the whole Account.
 *
 * Ending a session takes nothing from its owner, and what protects an account is no reason to leave a stranger in it.
 * So it only requires factors that a sign-in of this Environment accepts, and others if the person has none of these.
 */
export const createOwnProof =
  ({ db, now }: { db: Pick<Db, 'statement'>; now: Clock }) =>
  async (
    { accountId }: EnvironmentScope,
    { identityId, ...signIn }: Pick<HostedSession, 'identityId' | 'acr'> & ProvedWhen & FactorOrigin,
    allowed: readonly FactorKind[],
    wanted: WantedFor | null = null,
  ): Promise<Proven> => {
    const rows = await db.statement<{ type: MfaFactorType }>(kindsStatement, [accountId, identityId]);
    const kinds = rows.map(({ type }) => type);
    return judgeProof({ kinds, ...signIn }, allowed, wanted, now());
  };

interface ToJudge extends ProvedWhen, FactorOrigin {
  /** The kinds of factors that the person has and can show. */
  kinds: readonly MfaFactorType[];
  acr: string;
}

/** The rule itself, for data that was read already. */
export function judgeProof(
  { kinds, acr, ...signIn }: ToJudge,
  allowed: readonly FactorKind[],
  wanted: WantedFor | null,
  at: Date,
): Proven {
  const isEnding = wanted?.change === 'ending';
  const isTheirs = isEnding || !isOnlyAsserted(signIn);
  const counted = kinds.filter((kind) => !isEnding || allowed.includes(kind));
  const hasStrong = counted.some((kind) => kind !== 'email_otp');
  // If a normal sign-in would not ask for the code, it takes one that asks for everything.
  const isAsked = wanted?.mfaPolicy !== 'off' && allowed.includes('email_otp');
  const owesCode =
    wanted !== null && counted.length > 0 && !hasStrong && !(isTheirs && showsCode(wanted)) && (isAsked || !isEnding);
  const needsAal2 = hasStrong || (owesCode && !isAsked);
  const isFresh = at.getTime() < authTimeOf(signIn).getTime() + proofLife;
  if (isFresh && ((acr === aal2 && isTheirs) || !(needsAal2 || owesCode))) return { isEnough: true };
  // An owed code is mailed by any sign-in that asks for everything.
  const isReachable = !hasStrong || acr === aal2 || allowed.includes('totp') || allowed.includes('webauthn');
  const maxAge = isFresh ? proofLife : proofLife - roundTrip;
  return { isEnough: false, maxAgeSeconds: maxAge / 1000, needsAal2, isReachable };
}

/**
 * Whether an emailed code was shown, as first or second factor. A person who signed in by a trusted browser may end
 * sessions.
 */
const showsCode = ({ change, amr, secondFactorAt }: WantedFor) =>
  amr.includes('otp') || (change === 'ending' && secondFactorAt !== null);

export type OwnProof = ReturnType<typeof createOwnProof>;
