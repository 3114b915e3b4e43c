import type { Clock } from '../../platform/clock.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import type { Db } from '../../platform/database/db.js';
import { createAccountClosing } from '../account-closing/close-account.js';
import { createLeaving } from '../accounts/leave.js';
import { type AdminMfa, createAdminMfa } from '../admin-mfa/admin-mfa.js';
import { createInviteAcceptance, type InviteAcceptance } from '../administrator-invites/acceptance.js';
import type { SigningKeys } from '../oidc/keys.js';
import type { RefreshTokens } from '../oidc/tokens/refresh-tokens.js';
import type { Passwords } from '../passwords/passwords.js';
import type { ParkedRegistration, Registrations } from '../registration/registrations.js';
import { type AccountCreation, type AccountCreationDeps, createAccountCreation } from './account-creation.js';
import { type AdminSubject, type AdminTokens, createAdminTokens } from './admin-tokens.js';
import { type ConfirmEmail, type ConfirmEmailDeps, createConfirmEmail } from './confirm-email.js';
import { createEmailChanges, type EmailChanges } from './email-change.js';
import { createUserGuesses } from './guesses.js';
import { createUserDeletion } from './own-deletion.js';
import { createPasswordChange, type PasswordChange } from './password-change.js';
import { createPasswordForgot } from './password-forgot.js';
import { createPasswordReset, type PasswordReset } from './password-reset.js';
import { createPortalAccesses, type PortalAccesses } from './portal-access.js';
import { type Profile, profileOf } from './profile.js';
import { createProfileChange, type ProfileChanges } from './profile-change.js';
import { createRegister, type RegistrationRequest } from './register.js';
import { createSignIn, type SignIn, type SignInDeps } from './sign-in.js';
import { createUserSessions, type UserSessions } from './user-sessions.js';

export interface UsersDeps {
  db: Db;
  keys: Pick<SigningKeys, 'sign' | 'verify'>;
  refreshTokens: Pick<RefreshTokens, 'issue' | 'rotate'>;
  sealing: Pick<Sealing, 'seal' | 'open' | 'derive'>;
  passwords: Passwords;
  onRehashError: SignInDeps['onRehashError'];
  registrations: Pick<Registrations, 'park'> & ConfirmEmailDeps['registrations'];
  accountIntents: AccountCreationDeps['accountIntents'];
  processes: ConfirmEmailDeps['processes'] & AccountCreationDeps['processes'];
  /** Whether guesses are counted. */
  rateLimits: boolean;
  /** How many steps before and after the current one a TOTP code is accepted. */
  totpDriftSteps: number;
  baseUrl: string;
  now: Clock;
}

/** All operations on platform admins, from their registration to what they may reach. */
export interface Users {
  register(request: RegistrationRequest): Promise<ParkedRegistration>;
  email: ConfirmEmail;
  emailChanges: EmailChanges;
  signIn: SignIn;
  mfa: AdminMfa;
  accounts: AccountCreation;
  passwords: {
    forgot(request: { email: string; locale: 'en' | 'de' }): Promise<void>;
    link: PasswordReset;
    change(subject: AdminSubject, change: PasswordChange): Promise<void>;
  };
  invites: InviteAcceptance;
  sessions: UserSessions;
  tokens: AdminTokens;
  portal: PortalAccesses;
  profile(subject: AdminSubject): Promise<Profile | null>;
  rename(subject: AdminSubject, changes: ProfileChanges): Promise<void>;
  delete(subject: AdminSubject): Promise<void>;
  leaveAccount: ReturnType<typeof createLeaving>;
  closeAccount: ReturnType<typeof createAccountClosing>;
}

export function createUsers(deps: UsersDeps): Users {
  const tokens = createAdminTokens(deps);
  const sessions = createUserSessions({ ...deps, tokens });
  const mfa = createAdminMfa(deps);
  const guesses = createUserGuesses(deps);
  const signIn = createSignIn({ ...deps, sessions, challenges: mfa.challenges, passkeys: mfa.passkeys, guesses });
  return {
    register: createRegister(deps),
    email: createConfirmEmail({ ...deps, signIn }),
    emailChanges: createEmailChanges({ ...deps, guesses }),
    signIn,
    mfa,
    accounts: createAccountCreation({ ...deps, signIn }),
    passwords: {
      forgot: createPasswordForgot(deps),
      link: createPasswordReset({ ...deps, guesses }),
      change: createPasswordChange({ ...deps, guesses }),
    },
    invites: createInviteAcceptance(deps),
    sessions,
    tokens,
    portal: createPortalAccesses(deps),
    profile: (subject) => profileOf(deps.db, subject),
    rename: createProfileChange(deps),
    delete: createUserDeletion(deps),
    leaveAccount: createLeaving(deps),
    closeAccount: createAccountClosing(deps),
  };
}
