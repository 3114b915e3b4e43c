import { after, seconds } from '../../platform/clock.js';
import { equalInConstantTime } from '../../platform/crypto/one-time-secret.js';

/** The hash of a secret that was replaced, for as long as that secret still works. */
export interface PreviousSecret {
  previousSecretHash: Buffer | null;
  previousSecretExpiresAt: Date | null;
}

/** No earlier secret works. */
export const noPreviousSecret: PreviousSecret = { previousSecretHash: null, previousSecretExpiresAt: null };

/** A secret as it is stored. */
export interface RotatedSecret extends PreviousSecret {
  secretHash: Buffer | null;
}

/** Returns what is kept of a secret that is replaced: without an overlap, nothing. */
export const replaced = (secretHash: Buffer | null, overlapSeconds: number, at: Date): PreviousSecret =>
  secretHash !== null && overlapSeconds > 0
    ? { previousSecretHash: secretHash, previousSecretExpiresAt: after(at, seconds(overlapSeconds)) }
    : noPreviousSecret;

/** Whether a hash is that of the secret, or of the one before its rotation while that still works. */
export function isSecretNow(stored: RotatedSecret, hash: Buffer, at: Date): boolean {
  const { secretHash, previousSecretHash: previous, previousSecretExpiresAt: until } = stored;
  const isCurrent = secretHash !== null && equalInConstantTime(secretHash, hash);
  const isPrevious = previous !== null && until !== null && until > at && equalInConstantTime(previous, hash);
  return isCurrent || isPrevious;
}
