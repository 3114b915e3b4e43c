import type { Clock } from '../../platform/clock.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import type { Db } from '../../platform/database/db.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { isInProduction } from '../access/assignments/production-people.js';
import { createIdentityInviteAcceptance, type IdentityInviteAcceptance } from '../identity-invites/acceptance.js';
import type { MfaGraces } from '../mfa/grace/grace.js';
import { createSecondFactors, type SecondFactors } from '../mfa/second-factors.js';
import { createWebauthnEnrollments, type WebauthnEnrollments } from '../mfa/webauthn/enrollment.js';
import { createOwnWebauthn, type OwnWebauthn } from '../mfa/webauthn/own.js';
import { createWebauthn, type Webauthn } from '../mfa/webauthn/webauthn.js';
import type { Passwords } from '../passwords/passwords.js';
import { createOwnApplications, type OwnApplications } from '../sessions/own-applications.js';
import { createOwnProof, type OwnProof } from '../sessions/own-proof.js';
import { createOwnSessions, type OwnSessions } from '../sessions/own-sessions.js';
import { createSignUps, type SignUps } from '../sign-ups/sign-ups.js';
import { type Attempts, createAttempts } from './attempts.js';
import { createEmailOtpLogin, type EmailOtpLogin } from './email-otp.js';
import { createEmailedCodes, type EmailedCodes } from './emailed-codes.js';
import { createGate, type Gate } from './gate.js';
import { createOwnEmail, type OwnEmail } from './own-email.js';
import { createOwnPassword, type OwnPassword } from './own-password.js';
import { createOwnProfile, type OwnProfileOf } from './own-profile.js';
import { createPasskeyLogin, type PasskeyLogin } from './passkey.js';
import { createPasswordLogin, type PasswordLogin } from './password.js';
import { createIdentityPasswordReset, type IdentityPasswordReset } from './password-reset.js';
import { createPendingSignIns, type PendingSignIns } from './pending-sign-ins.js';
import { createSignInTerms } from './sign-in-terms.js';

/** All services by which end users prove who they are, shared by the hosted pages and the end-user API. */
export interface Logins extends SecondFactors {
  attempts: Attempts;
  emailOtpLogin: EmailOtpLogin;
  emailedCodes: EmailedCodes;
  gate: Gate;
  inviteAcceptance: IdentityInviteAcceptance;
  ownApplications: OwnApplications;
  ownEmail: OwnEmail;
  ownPassword: OwnPassword;
  ownProfile: OwnProfileOf;
  ownProof: OwnProof;
  /** Whether an Environment is for tests, and a person of it is in a production one as well. */
  isTestOfProduction(scope: EnvironmentScope, identityId: string): Promise<boolean>;
  ownSessions: OwnSessions;
  ownWebauthn: OwnWebauthn;
  passkeyLogin: PasskeyLogin;
  passwordLogin: PasswordLogin;
  passwordReset: IdentityPasswordReset;
  pendingSignIns: PendingSignIns;
  signUps: SignUps;
  webauthn: Webauthn;
  webauthnEnrollments: WebauthnEnrollments;
}

export interface LoginsDeps {
  db: Db;
  sealing: Sealing;
  passwords: Passwords;
  graces: Pick<MfaGraces, 'find' | 'start'>;
  rateLimits: boolean;
  baseUrl: string;
  /** Told when a password could not be rehashed; the person is signed in all the same. */
  onRehashError: (error: unknown) => void;
  now: Clock;
}

export function createLogins({
  db,
  sealing,
  passwords,
  graces,
  rateLimits,
  baseUrl,
  onRehashError,
  now,
}: LoginsDeps): Logins {
  const attempts = createAttempts({ db, enabled: rateLimits, now });
  const emailedCodes = createEmailedCodes({ db, sealing, now });
  const pendingSignIns = createPendingSignIns({ db, now });
  const termsOf = createSignInTerms({ db });
  const webauthn = createWebauthn({ db, baseUrl, pendingSignIns, now });
  const secondFactors = createSecondFactors({
    db,
    sealing,
    emailedCodes,
    passwords,
    pendingSignIns,
    webauthn,
    graces,
    rateLimits,
    now,
  });
  return {
    attempts,
    emailOtpLogin: createEmailOtpLogin({ db, sealing, emailedCodes, attempts, rateLimits, now }),
    emailedCodes,
    ...secondFactors,
    gate: createGate({ db, mfaGate: secondFactors.mfaGate, termsOf }),
    inviteAcceptance: createIdentityInviteAcceptance({ db, passwords, now }),
    ownApplications: createOwnApplications({ db, now }),
    ownEmail: createOwnEmail({ db, emailedCodes, attempts, rateLimits, now }),
    ownPassword: createOwnPassword({ db, passwords, rateLimits, now }),
    ownProfile: createOwnProfile({ db }),
    ownProof: createOwnProof({ db, now }),
    isTestOfProduction: (scope, identityId) => isInProduction(db, scope, identityId),
    ownSessions: createOwnSessions({ db, now }),
    ownWebauthn: createOwnWebauthn({ db, sealing, webauthn, now }),
    passkeyLogin: createPasskeyLogin({ db, sealing, webauthn, termsOf, now }),
    passwordLogin: createPasswordLogin({ db, passwords, attempts, onRehashError }),
    passwordReset: createIdentityPasswordReset({ db, sealing, passwords, attempts, rateLimits, now }),
    pendingSignIns,
    signUps: createSignUps({ db, sealing, passwords, rateLimits, now }),
    webauthn,
    webauthnEnrollments: createWebauthnEnrollments({ sealing, pendingSignIns, webauthn, now }),
  };
}
