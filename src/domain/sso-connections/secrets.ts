import type { SsoConnection } from '../../../entities/sso-connection.js';
import type { Sealing } from '../../platform/crypto/sealing.js';

/** What a connection's client secret is sealed with. */
export const clientSecretContext = (connectionId: string) => `sso_connections.oidc_client_secret/${connectionId}`;

/** The secret that we prove ourselves with at an OpenID provider; null where there is none. */
export const clientSecretOf = (
  sealing: Pick<Sealing, 'open'>,
  { id, oidcClientSecretSealed }: Pick<SsoConnection, 'id' | 'oidcClientSecretSealed'>,
): string | null => oidcClientSecretSealed && sealing.open(oidcClientSecretSealed, clientSecretContext(id));
