import type { ApiKeys } from '../../domain/api-keys/authenticate.js';
import type { Authorized } from '../surface.js';

/** An API key as the caller of the Public API; null when it is wrong, inactive or expired. */
export async function proveApiKey(apiKeys: ApiKeys, key: string): Promise<Authorized | null> {
  const found = await apiKeys.authenticate(key);
  if (!found) return null;
  const { id, name, accountId, applicationId, environmentId, accessMode, scopes } = found;
  return {
    caller: { type: 'api_key', apiKeyId: id, name, accessMode, scopes },
    scope: { accountId, applicationId, environmentId },
    credential: `api_key/${id}`,
  };
}
