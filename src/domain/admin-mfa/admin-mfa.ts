import type { Clock } from '../../platform/clock.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import type { Db } from '../../platform/database/db.js';
import { createMfaAttempts } from '../mfa/attempts.js';
import { type CodeHashing, createRecoveryCodeHashes } from '../mfa/codes/recovery-code-hashes.js';
import { createOwnWebauthn } from '../mfa/webauthn/own.js';
import { type AdminChallenges, createAdminChallenges } from './challenges.js';
import { createUserFactors } from './factors.js';
import { createOwnAdminMfa, type OwnAdminMfa } from './own-factors.js';
import { type AdminPasskeys, createAdminPasskeys } from './passkeys.js';
import { createPendingUserSignIns } from './pending-sign-ins.js';
import { createProof } from './proof.js';
import { createUserRecoveryCodes } from './recovery-codes.js';
import { createUserTotp } from './totp.js';
import { createUserWebauthn } from './webauthn.js';

export interface AdminMfaDeps {
  db: Db;
  sealing: Pick<Sealing, 'seal' | 'open'>;
  passwords: CodeHashing;
  /** Whether guesses are counted. */
  rateLimits: boolean;
  totpDriftSteps: number;
  baseUrl: string;
  now: Clock;
}

/**
 * Second factors of platform admins (docs/decisions/0043): the challenges at sign-in, passkeys in place of a password,
 * and their owners' management.
 */
export interface AdminMfa {
  challenges: AdminChallenges;
  passkeys: AdminPasskeys;
  own: OwnAdminMfa;
}

export function createAdminMfa(deps: AdminMfaDeps): AdminMfa {
  const { db, sealing, passwords, rateLimits, baseUrl, now } = deps;
  const proof = createProof({ db, now });
  const attempts = createMfaAttempts({ db, enabled: rateLimits, whose: 'user', now });
  const pending = createPendingUserSignIns({ db, now });
  const totp = createUserTotp(deps);
  const webauthn = createUserWebauthn({ db, baseUrl, pending, now });
  const recoveryCodes = createUserRecoveryCodes({ db, hashes: createRecoveryCodeHashes(passwords), proof, now });
  const factors = createUserFactors({ db, proof, recoveryCodes, now });
  const ownWebauthn = createOwnWebauthn({ db, sealing, webauthn, now });
  return {
    challenges: createAdminChallenges({ db, attempts, factors, recoveryCodes, totp, webauthn, pending, now }),
    passkeys: createAdminPasskeys({ db, sealing, webauthn, now }),
    own: createOwnAdminMfa({ proof, attempts, factors, recoveryCodes, totp, ownWebauthn }),
  };
}
