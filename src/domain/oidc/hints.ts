import { isInvalidToken, type SigningKeys } from './keys.js';
import { OAuthError } from './oauth-error.js';

/** Whom an `id_token_hint` speaks of, to which client, in which session. */
export interface Hint {
  subject: string;
  clientId: string;
  sessionId: string | null;
}

/**
 * Reads an ID token that we issued, as a hint: it may have expired (OpenID Connect Core 3.1.2.1).
 * @throws OAuthError invalid_request
 */
export async function readHint(keys: SigningKeys, token: string): Promise<Hint> {
  try {
    const { sub, aud, sid } = await keys.verify(token, { typ: 'JWT', acceptExpired: true });
    if (sub === undefined || typeof aud !== 'string') throw unreadable();
    return { subject: sub, clientId: aud, sessionId: typeof sid === 'string' ? sid : null };
  } catch (error) {
    if (isInvalidToken(error)) throw unreadable();
    throw error;
  }
}

const unreadable = () => new OAuthError('invalid_request', 'id_token_hint is not an ID token of this issuer');
