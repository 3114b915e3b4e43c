import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ApiKeys } from '../../domain/api-keys/authenticate.js';
import type { RateLimits } from '../surfaces/rate-limits.js';
import type { Authorized } from '../surfaces/surface.js';
import { proveApiKey } from './api-key.js';
import { credentialsOf } from './credentials.js';
import { type IdentityTokens, proveIdentityToken } from './identity.js';
import { refusing } from './refusing.js';

export interface PublicPrincipals {
  /**
   * Authenticates the caller of the Public API, by an API key or an end user's access token.
   * @throws DomainError auth.invalid_credentials, principal.wrong_type, auth.multiple_credentials, rate_limit.exceeded
   */
  authenticate(request: FastifyRequest, reply: FastifyReply): Promise<Authorized>;
}

/** Authenticates API keys and end users, each counted by the general limit of its kind. */
export function createPublicPrincipals({
  apiKeys,
  identityTokens,
  limits,
}: {
  apiKeys: ApiKeys;
  identityTokens: IdentityTokens;
  limits: RateLimits;
}): PublicPrincipals {
  return {
    async authenticate(request, reply) {
      const { bearer, apiKey } = credentialsOf(request);
      const refuse = refusing(limits, request, reply, { takesKeys: true });
      const authorized = apiKey
        ? await proveApiKey(apiKeys, apiKey)
        : bearer
          ? await proveIdentityToken(identityTokens, bearer).catch(refuse.failed)
          : null;
      if (!authorized) return refuse.unproved();
      await limits.general(apiKey ? 'apiKey' : 'jwt', authorized.credential, reply);
      return authorized;
    },
  };
}
