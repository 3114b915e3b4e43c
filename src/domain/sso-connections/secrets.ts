import type { SsoConnection } from '../../../entities/sso-connection.js';
import { equalInConstantTime } from '../../platform/crypto/one-time-secret.js';
import type { Sealing } from '../../platform/crypto/sealing.js';

/** The context in which a connection's client secret is sealed. */
export const clientSecretContext = (connectionId: string) => `sso_connections.oidc_client_secret/${connectionId}`;

/** Returns the secret with which we authenticate at an OpenID provider; null if there is none. */
export const clientSecretOf = (
  sealing: Pick<Sealing, 'open'>,
  { id, oidcClientSecretSealed }: Pick<SsoConnection, 'id' | 'oidcClientSecretSealed'>,
): string | null => oidcClientSecretSealed && sealing.open(oidcClientSecretSealed, clientSecretContext(id));

/**
 * Returns a client secret as it is stored. Returns the stored text if it holds the same secret, so that sending it
 * again changes nothing. If the stored text cannot be opened any more, the secret is sealed again.
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
