import type { Clock } from '../../platform/clock.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import type { Db } from '../../platform/db.js';
import type { Outbound } from '../../platform/outbound/fetch.js';
import { clientSecretOf } from '../sso-connections/secrets.js';
import { createOidcProtocol, type OidcProtocol } from '../sso-protocols/oidc/oidc.js';
import { createEndUserSso, type EndUserSso } from './end-users.js';
import { createSsoSignIn, type SsoSignIn } from './sign-in.js';

/** Sign-in by an identity provider, put together. */
export interface Sso {
  signIn: SsoSignIn;
  oidc: OidcProtocol;
  endUsers: EndUserSso;
}

export interface SsoDeps {
  db: Db;
  sealing: Sealing;
  outbound: Outbound;
  baseUrl: string;
  now: Clock;
}

export function createSso({ db, sealing, outbound, baseUrl, now }: SsoDeps): Sso {
  const secretOf: Parameters<typeof createOidcProtocol>[0]['clientSecretOf'] = (connection) =>
    clientSecretOf(sealing, connection);
  const oidc = createOidcProtocol({ baseUrl, clientSecretOf: secretOf, outbound, now });
  return {
    signIn: createSsoSignIn({ db, sealing, protocols: { oidc }, now }),
    oidc,
    endUsers: createEndUserSso({ db, now }),
  };
}
