import { decodeJwt } from 'jose';

/** A claim of a token that need not be verified; null if it is missing, or no text. */
export function claimedText(token: string, claim: 'sub' | 'client_id'): string | null {
  try {
    const { [claim]: said }: Record<string, unknown> = decodeJwt(token);
    return typeof said === 'string' ? said : null;
  } catch {
    return null;
  }
}
