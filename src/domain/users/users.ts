import type { Clock } from '../../platform/clock.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import type { Db } from '../../platform/db.js';
import type { SigningKeys } from '../oidc/keys.js';
import type { RefreshTokens } from '../oidc/refresh-tokens.js';
import type { Passwords } from '../passwords/passwords.js';
import type { Registrations } from '../registration/registrations.js';
import { type AdminSubject, type AdminTokens, createAdminTokens } from './admin-tokens.js';
import { type ConfirmEmail, type ConfirmEmailDeps, createConfirmEmail } from './confirm-email.js';
import { createPortalAccesses, type PortalAccesses } from './portal-access.js';
import { type Profile, profileOf } from './profile.js';
import { createRegister, type RegistrationRequest } from './register.js';
import { createSignIn, type SignIn } from './sign-in.js';
import { createUserSessions, type UserSessions } from './user-sessions.js';

export interface UsersDeps {
  db: Db;
  keys: Pick<SigningKeys, 'sign' | 'verify'>;
  refreshTokens: Pick<RefreshTokens, 'issue' | 'rotate'>;
  sealing: Pick<Sealing, 'seal' | 'open'>;
  passwords: Passwords;
  registrations: Pick<Registrations, 'find' | 'park' | 'provision'>;
  processes: ConfirmEmailDeps['processes'];
  baseUrl: string;
  now: Clock;
}

/** Everything about platform admins: from their registration to what they may reach. */
export interface Users {
  register(request: RegistrationRequest): Promise<void>;
  email: ConfirmEmail;
  signIn: SignIn;
  sessions: UserSessions;
  tokens: AdminTokens;
  portal: PortalAccesses;
  profile(subject: AdminSubject): Promise<Profile | null>;
}

export function createUsers(deps: UsersDeps): Users {
  const tokens = createAdminTokens(deps);
  const sessions = createUserSessions({ ...deps, tokens });
  const signIn = createSignIn({ ...deps, sessions });
  return {
    register: createRegister(deps),
    email: createConfirmEmail({ ...deps, signIn }),
    signIn,
    sessions,
    tokens,
    portal: createPortalAccesses(deps),
    profile: (subject) => profileOf(deps.db, subject),
  };
}
