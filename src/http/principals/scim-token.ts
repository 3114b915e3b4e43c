import type { FastifyReply, FastifyRequest } from 'fastify';
import { DomainError } from '../../domain/errors.js';
import type { AuthenticatedDirectory, ScimAuthentication } from '../../domain/scim/authenticate.js';
import { currentContext } from '../../platform/context.js';
import type { RateLimits } from '../rate-limits.js';
import { credentialsOf } from './credentials.js';

/**
 * Whose directory calls, by the bearer token; what it does from here on is its doing.
 * @throws DomainError auth.invalid_credentials, auth.multiple_credentials, rate_limit.exceeded
 */
export async function proveScimToken(
  { authenticate, limits }: { authenticate: ScimAuthentication; limits: Pick<RateLimits, 'general'> },
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<AuthenticatedDirectory> {
  const { bearer } = credentialsOf(request);
  const directory = bearer ? await authenticate(bearer) : null;
  if (!directory) {
    await limits.general('anonymous', request.ip, reply);
    if (bearer) reply.header('www-authenticate', 'Bearer error="invalid_token"'); // RFC 6750 §3.1
    throw new DomainError('auth.invalid_credentials');
  }
  await limits.general('apiKey', `scim_token/${directory.tokenId}`, reply);
  currentContext().actor = { type: 'scim_token', id: directory.tokenId, label: directory.tokenName };
  return directory;
}
