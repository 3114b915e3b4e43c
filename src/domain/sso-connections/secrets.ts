import type { SsoConnection } from '../../../entities/sso-connection.js';
import { equalInConstantTime } from '../../platform/crypto/one-time-secret.js';
import type { Sealing } from '../../platform/crypto/sealing.js';

/** What a connection's client secret is sealed with. */
export const clientSecretContext = (connectionId: string) => `sso_connections.oidc_client_secret/${connectionId}`;

/** The secret that we prove ourselves with at an OpenID provider; null where there is none. */
export const clientSecretOf = (
  sealing: Pick<Sealing, 'open'>,
  { id, oidcClientSecretSealed }: Pick<SsoConnection, 'id' | 'oidcClientSecretSealed'>,
): string | null => oidcClientSecretSealed && sealing.open(oidcClientSecretSealed, clientSecretContext(id));

/**
 * A client secret as it is stored: as it stands where it is the one that is there, so that who sends it again changes nothing. Where that
 * cannot be opened any more it is sealed anew.
 */
export function sealedClientSecret(
  sealing: Pick<Sealing, 'seal' | 'open'>,
  connection: Pick<SsoConnection, 'id' | 'oidcClientSecretSealed'>,
  secret: string,
): string {
  const held = openedOf(sealing, connection);
  return held !== null && equalInConstantTime(held, secret)
    ? (connection.oidcClientSecretSealed as string)
    : sealing.seal(secret, clientSecretContext(connection.id));
}

function openedOf(...of: Parameters<typeof clientSecretOf>): string | null {
  try {
    return clientSecretOf(...of);
  } catch {
    return null;
  }
}
