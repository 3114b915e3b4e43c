import { type ResealDeps, resealColumn } from '../../platform/crypto/reseal-column.js';
import { clientSecretContext } from './secrets.js';

/** Re-encrypts client secrets that an older master key sealed. Returns how many. */
export const resealConnections = (deps: ResealDeps): Promise<number> =>
  resealColumn(deps, {
    table: 'sso_connections',
    column: 'oidc_client_secret_sealed',
    where: 'oidc_client_secret_sealed is not null',
    contextOf: clientSecretContext,
  });
