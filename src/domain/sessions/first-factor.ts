import type { FirstFactorMethod } from '../../../entities/pending-sign-in.js';

/** RFC 6711 names for how sure a sign-in is (contract §3): one factor, or two different ones. */
export const aal1 = 'urn:gatehouse:aal1';
export const aal2 = 'urn:gatehouse:aal2';
export type Acr = typeof aal1 | typeof aal2;

/** A person who has just proved who they are, or whose session still proves it. */
export interface FirstFactor {
  identityId: string;
  method: FirstFactorMethod;
  /** RFC 8176. */
  amr: string[];
  acr: Acr;
  /** When they came in by it; the lifetime of what they are given counts from then. */
  authenticatedAt: Date;
  /** When the identity provider asked them, if it was proved there. */
  authTime?: Date | null;
  /** The SSO connection by which it was proved; null if it was proved here. */
  ssoConnectionId?: string | null;
  /**
   * The session at the provider (`sso_sessions`), if there is one: a recovery code replaces the connection without one.
   */
  ssoSessionId?: string | null;
  /** For a session: when a second factor was proved in it. */
  secondFactorAt: Date | null;
  /** When one of the person's own factors was shown; what a provider asserts does not count. */
  ownFactorAt: Date | null;
  /** When the password was set that was the person's at the proof. If another one was set since, no session begins. */
  passwordChangedAt?: Date | null;
  /** The address with which it was proved, if by one. If the person has another one since, no session begins. */
  email?: string | null;
}

/** `authTime` if a provider does not say when it authenticated the person: older than any requested age. */
export const unsaid = new Date(0);

/**
 * Returns the time of a sign-in, for `auth_time`, `max_age` and sensitive changes: an identity provider may have
 * authenticated the person hours before.
 */
export const authTimeOf = ({ authTime, authenticatedAt }: Pick<FirstFactor, 'authTime' | 'authenticatedAt'>): Date =>
  authTime ?? authenticatedAt;

/** A completed sign-in, by any method. */
export type Proof = Omit<FirstFactor, 'method'>;

/** Returns a first factor that was proved right now. A passkey that has verified its user counts as two factors. */
export const firstFactor = (
  identityId: string,
  method: FirstFactorMethod,
  amr: string[],
  { now, acr = aal1, ...asOf }: { now: Date; acr?: Acr } & Pick<FirstFactor, 'passwordChangedAt' | 'email'>,
): FirstFactor => ({
  identityId,
  method,
  amr,
  acr,
  authenticatedAt: now,
  ssoConnectionId: null,
  ssoSessionId: null,
  secondFactorAt: acr === aal2 ? now : null,
  ownFactorAt: acr === aal2 && method !== 'sso' ? now : null,
  ...asOf,
});

/** The values of RFC 8176 §2 and no others: an application could make nothing of other words. */
const registered = [
  'face',
  'fpt',
  'geo',
  'hwk',
  'iris',
  'kba',
  'mca',
  'mfa',
  'otp',
  'pin',
  'pop',
  'pwd',
  'rba',
  'sc',
  'sms',
  'swk',
  'tel',
  'user',
  'vbm',
  'wia',
];

/** The valid part of an identity provider's `amr`, which may contain anything, at any length. */
export const registeredMethods = (said: readonly string[]): string[] =>
  registered.filter((value) => said.includes(value));

/**
 * Whether only an identity provider vouches for a session. A provider does so in one Environment, while a person's
 * factors protect all of the Account.
 */
export const isOnlyAsserted = ({
  ssoConnectionId,
  ownFactorAt,
}: Pick<FirstFactor, 'ssoConnectionId' | 'ownFactorAt'>) => ssoConnectionId != null && ownFactorAt === null;

/** Returns the factors that an identity provider asserts: those that it names, and two of them only if it says so. */
export function factorOfProvider(
  identityId: string,
  said: readonly string[],
  by: { connectionId: string; ssoSessionId: string | null; authTime: Date; now: Date },
) {
  const amr = registeredMethods(said);
  const first = firstFactor(identityId, 'sso', amr, { now: by.now, acr: amr.includes('mfa') ? aal2 : aal1 });
  const { authTime, connectionId: ssoConnectionId, ssoSessionId } = by;
  return { ...first, authTime, ssoConnectionId, ssoSessionId };
}
