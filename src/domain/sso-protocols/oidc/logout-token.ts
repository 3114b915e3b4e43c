import { errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';
import { clockSkewMs, hours, minutes } from '../../../platform/clock.js';
import { isStorable } from '../../../platform/database/storable.js';
import { isObject } from '../../is-object.js';
import { type SsoRefusal, SsoRefused } from '../assertion.js';
import { maxSubjectLength } from './claims.js';
import { claimRefusals } from './refusals.js';
import { refusalOfSignature } from './signature-refusals.js';

/** The session at the provider that is over, according to its logout token. */
export interface LogoutToken {
  /** `sub`; null: the person to whom the session belongs. */
  subject: string | null;
  /** `sid`; null: all sessions of the person. */
  sessionId: string | null;
  /** The token works once; what makes it this one, and until when it could be sent again. */
  once: { id: string; until: Date };
}

export interface LogoutTokenExpected {
  issuer: string;
  clientId: string;
  algorithms: readonly string[];
  keys: JWTVerifyGetKey;
  now: Date;
}

const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout';
/** The greatest age of a token without `exp`, which was optional before errata 1, and that of any token. */
const lifeMs = minutes(5);
const maxLifeMs = hours(1);
/** The limit for `jti` and `sid`, in characters. */
const maxIdLength = 1024;

/**
 * Checks a provider's logout token (OpenID Connect Back-Channel Logout 1.0 §2.4 and §2.6): it is signed like an ID
 * token by a key of the provider, addressed to us, current, about a logout, and not an ID token.
 * @throws SsoRefused
 */
export async function verifyLogoutToken(
  token: string,
  { issuer, clientId, algorithms, keys, now }: LogoutTokenExpected,
): Promise<LogoutToken> {
  if (token.split('.').length === 5) throw new SsoRefused('encryption_unsupported', 'The logout token is encrypted');
  const { payload } = await jwtVerify(token, keys, {
    issuer,
    audience: clientId,
    algorithms: [...algorithms],
    requiredClaims: ['iat', 'jti', 'events'],
    currentDate: now,
    clockTolerance: clockSkewMs / 1000,
    maxTokenAge: maxLifeMs / 1000,
  }).catch((error: unknown) => {
    throw asRefusal(error);
  });
  return logoutIn(payload, now);
}

function logoutIn({ events, nonce, sub, sid, jti, iat = 0, exp }: JWTPayload, now: Date): LogoutToken {
  if (!isObject(events) || !isObject(events[logoutEvent])) throw malformed('is not about a logout');
  // §2.4: so that a logout token and an ID token cannot be mistaken for each other.
  if (nonce !== undefined) throw malformed('has a nonce');
  if (sub === undefined && sid === undefined) throw new SsoRefused('subject_missing', 'It has neither a sub nor a sid');
  const isId = (value: unknown, maxLength: number) =>
    typeof value === 'string' && value !== '' && value.length <= maxLength && isStorable(value);
  if (sub !== undefined && !isId(sub, maxSubjectLength)) throw malformed('has an invalid sub');
  if (sid !== undefined && !isId(sid, maxIdLength)) throw malformed('has a sid that is not a string, or is too long');
  if (!isId(jti, maxIdLength)) throw malformed('has a jti that is not a string, or is too long');
  const until = Math.min((exp ?? Infinity) * 1000, iat * 1000 + (exp === undefined ? lifeMs : maxLifeMs)) + clockSkewMs;
  if (until <= now.getTime()) throw new SsoRefused('expired', 'The logout token was issued too long ago');
  return {
    subject: sub ?? null,
    sessionId: (sid as string | undefined) ?? null,
    // With whom it is about: should a provider use a `jti` twice, the second logout is not mistaken for the first one.
    once: { id: JSON.stringify([jti, sub, sid]), until: new Date(until) },
  };
}

const malformed = (how: string) => new SsoRefused('malformed', `The logout token ${how}`);

/** Turns the library's errors into refusals; other errors are faults, or refusals from fetching the keys. */
function asRefusal(error: unknown): unknown {
  const refused = (code: SsoRefusal, how: string) => new SsoRefused(code, `The logout token ${how}`, { cause: error });
  if (error instanceof errors.JWTExpired) return refused('expired', 'has expired');
  if (error instanceof errors.JWTClaimValidationFailed)
    return refused(claimRefusals[error.claim] ?? 'malformed', `has no valid ${error.claim}`);
  const code = refusalOfSignature(error);
  return code === null ? error : refused(code, ofSignature[code] ?? 'does not conform to OpenID Connect');
}

const ofSignature: Partial<Record<SsoRefusal, string>> = {
  algorithm_refused: 'is not signed with an asymmetric algorithm that the provider lists',
  signature_invalid: 'is not signed with a key of the provider',
};
