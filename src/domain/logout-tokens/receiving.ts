import { type EntityManager, IsNull, Not } from 'typeorm';
import { OAuthClient } from '../../../entities/oauth-client.js';
import { DomainError } from '../errors.js';

/**
 * Asserts that a client still exists and has an address for logout tokens.
 * @throws DomainError oauth_client.without_logout_uri
 */
export async function assertReceivesLogouts(
  tx: EntityManager,
  { accountId, environmentId }: { accountId: string; environmentId: string | null },
  id: string,
): Promise<void> {
  const backchannelLogoutUri = Not(IsNull());
  const where = { accountId, environmentId: environmentId ?? IsNull(), id, backchannelLogoutUri };
  if (!(await tx.existsBy(OAuthClient, where))) throw new DomainError('oauth_client.without_logout_uri');
}
