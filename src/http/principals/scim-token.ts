import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AuthenticatedDirectory, ScimAuthentication } from '../../domain/scim/authenticate.js';
import { currentContext } from '../../platform/context.js';
import type { RateLimits } from '../surfaces/rate-limits.js';
import { credentialsOf } from './credentials.js';
import { refusing } from './refusing.js';

/**
 * Authenticates the calling directory by its bearer token, and makes it the actor of everything that follows.
 * @throws DomainError auth.invalid_credentials, auth.multiple_credentials, rate_limit.exceeded
 */
export async function proveScimToken(
  { authenticate, limits }: { authenticate: ScimAuthentication; limits: Pick<RateLimits, 'general'> },
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<AuthenticatedDirectory> {
  const { bearer } = credentialsOf(request);
  const directory = bearer ? await authenticate(bearer) : null;
  if (!directory) return refusing(limits, request, reply).unproved();
  await limits.general('apiKey', `scim_token/${directory.tokenId}`, reply);
  currentContext().actor = { type: 'scim_token', id: directory.tokenId, label: directory.tokenName };
  return directory;
}
