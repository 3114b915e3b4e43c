import type { FirstFactorMethod } from '../../../entities/pending-sign-in.js';

/** RFC 6711 names of how sure a sign-in is (contract §3): one factor, or two different ones. */
export const aal1 = 'urn:gatehouse:aal1';
export const aal2 = 'urn:gatehouse:aal2';
export type Acr = typeof aal1 | typeof aal2;

/** A person who has just proved who they are, or whose session proves it. */
export interface FirstFactor {
  identityId: string;
  method: FirstFactorMethod;
  /** RFC 8176. */
  amr: string[];
  acr: Acr;
  /** When they came in by it, from which what they are given lasts. */
  authenticatedAt: Date;
  /** When it was proved, where that was to an identity provider. */
  authTime?: Date | null;
  /** The SSO connection that it was proved by; without one, it was proved here. */
  ssoConnectionId?: string | null;
  /** The session there (`sso_sessions`), where there is one: a recovery code stands for the connection without. */
  ssoSessionId?: string | null;
  /** Of a session: when a second factor was proved in it. */
  secondFactorAt: Date | null;
  /** When a factor of the person's own was shown, for which no provider's word stands. */
  ownFactorAt: Date | null;
  /** Of a password that was just proved: when it was set. With another one since then, no session begins. */
  passwordChangedAt?: Date | null;
}

/** `authTime` of whom a provider vouches for that does not say when it was: no age that anybody asks for is as old. */
export const unsaid = new Date(0);

/**
 * How fresh a sign-in is: what `auth_time` tells, and what `max_age` and sensitive changes go by. An identity provider lets people pass
 * whom it has asked hours before.
 */
export const authTimeOf = ({ authTime, authenticatedAt }: Pick<FirstFactor, 'authTime' | 'authenticatedAt'>): Date =>
  authTime ?? authenticatedAt;

/** A sign-in with all that it needed, by whichever method it began. */
export type Proof = Omit<FirstFactor, 'method'>;

/** What a first factor that was proved right now amounts to; a passkey that verified its user is two factors by itself. */
export const firstFactor = (
  identityId: string,
  method: FirstFactorMethod,
  amr: string[],
  { now, acr = aal1 }: { now: Date; acr?: Acr },
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
});

/** RFC 8176 §2, and nothing else: what an application would make of other words nobody knows. */
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

/** What of an identity provider's `amr` is one: it says whatever it likes, at any length. */
export const registeredMethods = (said: readonly string[]): string[] =>
  registered.filter((value) => said.includes(value));

/**
 * Whether a session speaks for its person alone: a provider speaks in one Environment, and what somebody has of factors guards all
 * of the Account.
 */
export const isProvidersWord = ({
  ssoConnectionId,
  ownFactorAt,
}: Pick<FirstFactor, 'ssoConnectionId' | 'ownFactorAt'>) => ssoConnectionId != null && ownFactorAt === null;

/** What an identity provider's word amounts to: the factors that it names, and two of them only where it says so itself. */
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
