import type { FactorKind, MfaPolicy } from '../../../entities/environment-settings.js';
import type { MfaFactorType } from '../../../entities/mfa-factor.js';
import { type Clock, minutes } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { aal2, authTimeOf, type FirstFactor, isProvidersWord } from './first-factor.js';
import type { SignedInPerson } from './hold.js';
import type { HostedSession } from './sessions.js';

/** How old a sign-in may be for what could lock its owner out. */
export const proofLife = minutes(10);

/**
 * How much newer a sign-in has to be that is asked for: an identity provider that has just asked its person says so at once, by a
 * clock that may be a minute behind, and what it says has to be new here still. Else they would be sent to and fro.
 */
const onTheWay = minutes(2);

type ProvedWhen = Pick<FirstFactor, 'authenticatedAt' | 'authTime'>;

/** Whose word a sign-in is: its person's, or that of an identity provider alone. */
type WhoseWord = Pick<FirstFactor, 'ssoConnectionId' | 'ownFactorAt'>;

/** Who changes their own factors, in which session, and when they signed in for it. */
export type OwnProofOf = SignedInPerson & ProvedWhen;

/** Whether it is enough, or what a new sign-in has to prove. */
export type Proven =
  | { isEnough: true }
  /** `isReachable`: whether a sign-in of this Environment can be enough at all. */
  | { isEnough: false; maxAgeSeconds: number; needsAal2: boolean; isReachable: boolean };

/**
 * What it is wanted for besides a new password: to change factors, or to end other sessions and what applications were given;
 * with what the sign-in has proved, and whether this Environment asks for it.
 */
export interface WantedFor {
  change: 'factors' | 'ending';
  mfaPolicy: MfaPolicy;
  amr: readonly string[];
  secondFactorAt: Date | null;
}

/** A code can be mailed to a confirmed address alone: who has no other factor, and no such address any more, has none to show. */
const kindsStatement = {
  name: 'kinds_of_own_factors',
  text: `
select distinct type from mfa_factors f where account_id = $1 and identity_id = $2
  and (type <> 'email_otp' or exists (select from identities i where i.id = f.identity_id and i.email_verified_at is not null))`,
};

/**
 * Whether a session is a recent and strong enough proof to change a password or second factors: a sign-in of the last ten
 * minutes, with a second factor where the person has one. One that this Environment does not take protects the person too: a
 * stolen password must neither remove it nor add another. An emailed code never makes aal2 (contract §3); somebody who has
 * nothing else shows it where factors are changed. A factor is shown here: an identity provider that says it has asked for two speaks in one
 * Environment, and may be the customer's of one organization, while factors and password are the whole Account's.
 *
 * Ending takes no key away, and what protects an account is no reason to leave a stranger in it: of factors it asks for those
 * that a sign-in of this Environment takes, and whoever has none of them proves what is left to them.
 */
export const createOwnProof =
  ({ db, now }: { db: Pick<Db, 'statement'>; now: Clock }) =>
  async (
    { accountId }: EnvironmentScope,
    { identityId, ...signIn }: Pick<HostedSession, 'identityId' | 'acr'> & ProvedWhen & WhoseWord,
    allowed: readonly FactorKind[],
    wanted: WantedFor | null = null,
  ): Promise<Proven> => {
    const rows = await db.statement<{ type: MfaFactorType }>(kindsStatement, [accountId, identityId]);
    const kinds = rows.map(({ type }) => type);
    return judgeProof({ kinds, ...signIn }, allowed, wanted, now());
  };

interface ToJudge extends ProvedWhen, WhoseWord {
  /** Of the factors that the person has and can show. */
  kinds: readonly MfaFactorType[];
  acr: string;
}

/** The rule itself, for what was read already. */
export function judgeProof(
  { kinds, acr, ...signIn }: ToJudge,
  allowed: readonly FactorKind[],
  wanted: WantedFor | null,
  at: Date,
): Proven {
  const isEnding = wanted?.change === 'ending';
  const isTheirs = isEnding || !isProvidersWord(signIn);
  const counted = kinds.filter((kind) => !isEnding || allowed.includes(kind));
  const hasStrong = counted.some((kind) => kind !== 'email_otp');
  // Where a sign-in would not ask for the code, it has to be one that asks for everything.
  const isAsked = wanted?.mfaPolicy !== 'off' && allowed.includes('email_otp');
  const owesCode =
    wanted !== null && counted.length > 0 && !hasStrong && !(isTheirs && showsCode(wanted)) && (isAsked || !isEnding);
  const needsAal2 = hasStrong || (owesCode && !isAsked);
  const isFresh = at.getTime() < authTimeOf(signIn).getTime() + proofLife;
  if (isFresh && ((acr === aal2 && isTheirs) || !(needsAal2 || owesCode))) return { isEnough: true };
  // A code that is owed is mailed wherever a sign-in asks for everything.
  const isReachable = !hasStrong || acr === aal2 || allowed.includes('totp') || allowed.includes('webauthn');
  const maxAge = isFresh ? proofLife : proofLife - onTheWay;
  return { isEnough: false, maxAgeSeconds: maxAge / 1000, needsAal2, isReachable };
}

/** By a mailed code, be it the first factor or the second. Ending is not refused to whom a trusted browser let in. */
const showsCode = ({ change, amr, secondFactorAt }: WantedFor) =>
  amr.includes('otp') || (change === 'ending' && secondFactorAt !== null);

export type OwnProof = ReturnType<typeof createOwnProof>;
