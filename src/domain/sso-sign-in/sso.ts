import type { Clock } from '../../platform/clock.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import type { Db } from '../../platform/database/db.js';
import type { Outbound } from '../../platform/outbound/fetch.js';
import type { CodeHashing } from '../mfa/codes/recovery-code-hashes.js';
import { clientSecretOf } from '../sso-connections/secrets.js';
import { createOidcProtocol, type OidcProtocol } from '../sso-protocols/oidc/oidc.js';
import { createSamlProtocol } from '../sso-protocols/saml/protocol.js';
import { createSsoSigningKeys } from '../sso-protocols/signing-keys.js';
import type { SignIn } from '../users/sign-in.js';
import { type AdministratorSso, createAdministratorSso } from './administrators.js';
import { type BackchannelLogout, createBackchannelLogout } from './backchannel-logout.js';
import { createEndUserSso, type EndUserSso } from './end-users.js';
import { createProviderSessions } from './provider-sessions.js';
import { createProviderSignOut, type ProviderSignOut } from './provider-sign-out.js';
import { createSsoRecovery, type SsoRecovery } from './recovery.js';
import { createSamlSso, type SamlSso } from './saml.js';
import { createSsoSignIn, type SsoSignIn } from './sign-in.js';
import { createSsoTests, type SsoTests } from './tests.js';

/** The services of sign-in by an identity provider. */
export interface Sso {
  signIn: SsoSignIn;
  oidc: OidcProtocol;
  saml: SamlSso;
  administrators: AdministratorSso;
  backchannelLogout: BackchannelLogout;
  endUsers: EndUserSso;
  leaving: ProviderSignOut;
  recovery: SsoRecovery;
  tests: SsoTests;
}

export interface SsoDeps {
  db: Db;
  sealing: Sealing;
  outbound: Outbound;
  passwords: CodeHashing;
  users: { signIn: Pick<SignIn, 'signInByProvider'> };
  baseUrl: string;
  rateLimits: boolean;
  now: Clock;
}

export function createSso({ db, sealing, outbound, passwords, users, baseUrl, rateLimits, now }: SsoDeps): Sso {
  const secretOf: Parameters<typeof createOidcProtocol>[0]['clientSecretOf'] = (connection) =>
    clientSecretOf(sealing, connection);
  const oidc = createOidcProtocol({ baseUrl, clientSecretOf: secretOf, outbound, now });
  const { keyOf } = createSsoSigningKeys({ db, sealing, now });
  const protocol = createSamlProtocol({ baseUrl, keyOf, now });
  const signIn = createSsoSignIn({ db, sealing, protocols: { oidc, saml: protocol }, now });
  const sessions = createProviderSessions({ sealing, now });
  const leaving = createProviderSignOut({ db, sessions, protocols: { oidc, saml: protocol }, now });
  return {
    signIn,
    oidc,
    saml: createSamlSso({ db, protocol, signIn, leaving, now }),
    administrators: createAdministratorSso({ db, signIn: users.signIn, sessions, now }),
    backchannelLogout: createBackchannelLogout({ db, protocol: oidc, requests: signIn.requests, now }),
    endUsers: createEndUserSso({ db, sessions, now }),
    leaving,
    recovery: createSsoRecovery({ db, sealing, passwords, rateLimits, now }),
    tests: createSsoTests({ db, sealing, signIn, baseUrl, now }),
  };
}
