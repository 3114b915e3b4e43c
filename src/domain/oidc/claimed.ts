import { decodeJwt } from 'jose';

/** What a token says of itself, verified or not; null where it says nothing, or no text. */
export function claimedText(token: string, claim: 'sub' | 'client_id'): string | null {
  try {
    const { [claim]: said }: Record<string, unknown> = decodeJwt(token);
    return typeof said === 'string' ? said : null;
  } catch {
    return null;
  }
}
