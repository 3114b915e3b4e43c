import type { Clock } from '../../platform/clock.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import type { Db } from '../../platform/database/db.js';
import type { Provider } from '../oidc/provider.js';
import type { Passwords } from '../passwords/passwords.js';
import { type ApiChallenges, createApiChallenges } from './api-challenges.js';
import { createApiEmail } from './api-email.js';
import { type ApiFactors, createApiFactors } from './api-factors.js';
import { createApiGrants } from './api-grants.js';
import { createApiProfiles } from './api-me.js';
import { type ApiOwn, createApiOwn, createAssertRecentOn } from './api-own.js';
import { createApiPassword } from './api-password.js';
import { createApiSelections } from './api-selections.js';
import { type ApiSessions, createApiSessions } from './api-sessions.js';
import { type ApiSignIn, createApiSignIn } from './api-sign-in.js';
import type { Logins } from './logins.js';

/** The services of the end-user API beyond the ways to sign in, which it shares with the hosted pages. */
export interface ApiLogins {
  signIn: ApiSignIn;
  challenges: ApiChallenges;
  sessions: ApiSessions;
  own: Pick<ApiOwn, 'assertMayEnd' | 'assertRecent'>;
  assertRecentOn: ReturnType<typeof createAssertRecentOn>;
  profile: ReturnType<typeof createApiProfiles>;
  factors: ApiFactors;
  email: ReturnType<typeof createApiEmail>;
  changePassword: ReturnType<typeof createApiPassword>;
}

export interface ApiLoginsDeps {
  db: Db;
  sealing: Pick<Sealing, 'seal' | 'open'>;
  passwords: Pick<Passwords, 'verify'>;
  logins: Logins;
  provider: Pick<Provider, 'clients' | 'sessions' | 'tokens'>;
  now: Clock;
}

export function createApiLogins({ db, sealing, passwords, logins, provider, now }: ApiLoginsDeps): ApiLogins {
  const { clients, sessions, tokens } = provider;
  const grants = createApiGrants({ db, now });
  const selections = createApiSelections({ db, sealing, now });
  const signIn = createApiSignIn({ db, passwords, logins, sessions, tokens, grants, selections, now });
  const own = createApiOwn({ db, logins });
  return {
    signIn,
    challenges: createApiChallenges({ db, logins, clients, signIn }),
    sessions: createApiSessions({ db, now }),
    own,
    assertRecentOn: createAssertRecentOn({ now }),
    profile: createApiProfiles({ db }),
    factors: createApiFactors({ db, own, logins, now }),
    email: createApiEmail({ own, logins }),
    changePassword: createApiPassword({ own, logins }),
  };
}
