import { decodeJwt, decodeProtectedHeader, type JWTPayload } from 'jose';
import { isInvalidToken, isOfUnknownKey, type SigningKeys } from '../keys.js';
import { OAuthError } from '../oauth-error.js';

/** In characters: room for an ID token with many organizations, within a request line of 16 KiB. */
export const maxHintLength = 12_288;

/** What an `id_token_hint` names: the person, the client and the session. */
export interface Hint {
  subject: string;
  clientId: string;
  sessionId: string | null;
  /**
   * Whether our signature was verified. The key may be gone, since clients keep an ID token for longer than we keep
   * keys, or a leaked key was removed. Then the hint only suggests a person, as `login_hint` does, and allows nothing.
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

/** Whether a token has the form of our ID tokens, even if it is not one. */
function isLikeOurs(token: string, issuer: string): boolean {
  try {
    const { alg, typ, kid } = decodeProtectedHeader(token);
    const { iss, sub } = decodeJwt(token);
    return alg === 'RS256' && typ === 'JWT' && typeof kid === 'string' && iss === issuer && typeof sub === 'string';
  } catch {
    return false; // truncated, or without claims
  }
}

const unreadable = () => new OAuthError('invalid_request', 'id_token_hint is not an ID token of this issuer');
