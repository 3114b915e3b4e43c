import type { ApiKeys } from '../../domain/api-keys/authenticate.js';
import { environmentScopeOf } from '../../platform/scope.js';
import type { Authorized } from '../surfaces/surface.js';

/** Authenticates an API key as the caller of the Public API; null if it is wrong, inactive or expired. */
export async function proveApiKey(apiKeys: ApiKeys, key: string): Promise<Authorized | null> {
  const found = await apiKeys.authenticate(key);
  if (!found) return null;
  const { id, name, accessMode, scopes } = found;
  return {
    caller: { type: 'api_key', apiKeyId: id, name, accessMode, scopes },
    scope: environmentScopeOf(found),
    credential: `api_key/${id}`,
  };
}
