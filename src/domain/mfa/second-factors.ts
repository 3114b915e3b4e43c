import type { Clock } from '../../platform/clock.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import type { Db } from '../../platform/database/db.js';
import type { EmailedCodes } from '../logins/emailed-codes.js';
import type { PendingSignIns } from '../logins/pending-sign-ins.js';
import { createMfaAttempts, type MfaAttempts } from './attempts.js';
import { createMfaChallenges, type MfaChallenges } from './challenges.js';
import { type CodeHashing, createRecoveryCodeHashes } from './codes/recovery-code-hashes.js';
import { createRecoveryCodes, type RecoveryCodes } from './codes/recovery-codes.js';
import { createSealedCodes, type SealedCodes } from './codes/sealed-codes.js';
import { createTotp, type Totp } from './codes/totp.js';
import { createEmailFactor, type EmailFactor } from './email-factor.js';
import { createMfaEnrollments, type MfaEnrollments } from './enrollments.js';
import { createFactors, type Factors } from './factors.js';
import { createMfaGate, type MfaGate } from './gate.js';
import type { MfaGraces } from './grace/grace.js';
import { createRepeatedEnrollments, type RepeatedEnrollments } from './repeated-enrollments.js';
import { createMfaReset, type MfaReset } from './reset.js';
import { createTrustedDevices, type TrustedDevices } from './trusted-devices.js';
import type { Webauthn } from './webauthn/webauthn.js';

/**
 * The services for everything between the first factor and the end of a sign-in, and for the person's own pages about
 * it.
 */
export interface SecondFactors {
  emailFactor: EmailFactor;
  factors: Factors;
  mfaAttempts: MfaAttempts;
  mfaGate: MfaGate;
  mfaChallenges: MfaChallenges;
  mfaEnrollments: MfaEnrollments;
  mfaReset: MfaReset;
  recoveryCodes: RecoveryCodes;
  repeatedEnrollments: RepeatedEnrollments;
  sealedCodes: SealedCodes;
  totp: Totp;
  trustedDevices: TrustedDevices;
}

export interface SecondFactorsDeps {
  db: Db;
  sealing: Sealing;
  emailedCodes: EmailedCodes;
  passwords: CodeHashing;
  pendingSignIns: Pick<PendingSignIns, 'lock' | 'complete' | 'prolong'>;
  webauthn: Pick<Webauthn, 'assertionOptions' | 'verifyAssertion'>;
  graces: Pick<MfaGraces, 'find' | 'start'>;
  rateLimits: boolean;
  now: Clock;
}

export function createSecondFactors(deps: SecondFactorsDeps): SecondFactors {
  const { db, sealing, emailedCodes, passwords, pendingSignIns, webauthn, graces, rateLimits, now } = deps;
  const attempts = createMfaAttempts({ db, enabled: rateLimits, now });
  const emailFactor = createEmailFactor({ db, emailedCodes, attempts });
  const recoveryCodes = createRecoveryCodes({ db, hashes: createRecoveryCodeHashes(passwords), now });
  const factors = createFactors({ db, recoveryCodes, now });
  const totp = createTotp({ db, sealing, now });
  const trustedDevices = createTrustedDevices({ db, now });
  return {
    emailFactor,
    factors,
    mfaAttempts: attempts,
    mfaGate: createMfaGate({ graces, devices: trustedDevices, now }),
    mfaChallenges: createMfaChallenges({
      db,
      attempts,
      totp,
      recoveryCodes,
      emailFactor,
      webauthn,
      pendingSignIns,
      trustedDevices,
      now,
    }),
    mfaEnrollments: createMfaEnrollments({ db, factors, recoveryCodes, now }),
    mfaReset: createMfaReset({ db, now }),
    recoveryCodes,
    repeatedEnrollments: createRepeatedEnrollments({ db, sealing, recoveryCodes, now }),
    sealedCodes: createSealedCodes({ db, sealing, now }),
    totp,
    trustedDevices,
  };
}
