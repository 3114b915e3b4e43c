import { decodeJwt, decodeProtectedHeader, type JWTPayload } from 'jose';
import { isInvalidToken, isOfUnknownKey, type SigningKeys } from './keys.js';
import { OAuthError } from './oauth-error.js';

/** In characters: an ID token with the roles of many organizations, and room for the rest of a request line of 16 KiB. */
export const longestHint = 12_288;

/** Whom an `id_token_hint` speaks of, to which client, in which session. */
export interface Hint {
  subject: string;
  clientId: string;
  sessionId: string | null;
  /**
   * Whether we have signed it for certain. The key may be gone, since clients keep an ID token for longer than we keep keys, or one
   * that leaked was taken away: then it narrows down who is meant, as `login_hint` does, and allows nothing.
   */
  isProven: boolean;
}

/**
 * Reads an ID token that we issued, as a hint: it may have expired (OpenID Connect Core 3.1.2.1).
 * @throws OAuthError invalid_request
 */
export async function readHint(keys: SigningKeys, token: string): Promise<Hint> {
  try {
    return hintOf(await keys.verify(token, { typ: 'JWT', acceptExpired: true }), { isProven: true });
  } catch (error) {
    if (isOfUnknownKey(error) && isLikeOurs(token, keys.issuer)) return hintOf(decodeJwt(token), { isProven: false });
    if (isInvalidToken(error)) throw unreadable();
    throw error;
  }
}

function hintOf({ sub, aud, sid }: JWTPayload, { isProven }: Pick<Hint, 'isProven'>): Hint {
  if (sub === undefined || typeof aud !== 'string') throw unreadable();
  return { subject: sub, clientId: aud, sessionId: typeof sid === 'string' ? sid : null, isProven };
}

/** What an ID token of ours says of itself, whoever has written it. */
function isLikeOurs(token: string, issuer: string): boolean {
  try {
    const { alg, typ, kid } = decodeProtectedHeader(token);
    const { iss, sub } = decodeJwt(token);
    return alg === 'RS256' && typ === 'JWT' && typeof kid === 'string' && iss === issuer && typeof sub === 'string';
  } catch {
    return false; // cut, or its claims are none
  }
}

const unreadable = () => new OAuthError('invalid_request', 'id_token_hint is not an ID token of this issuer');
