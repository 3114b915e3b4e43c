import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ApiKeys } from '../../domain/api-keys/authenticate.js';
import { DomainError } from '../../domain/errors.js';
import type { RateLimits } from '../rate-limits.js';
import type { Authorized } from '../surface.js';
import { proveApiKey } from './api-key.js';
import { credentialsOf } from './credentials.js';
import { type IdentityTokens, proveIdentityToken } from './identity.js';

export interface PublicPrincipals {
  /**
   * The caller of the Public API: an API key, or an end user's access token.
   * @throws DomainError auth.invalid_credentials, principal.wrong_type, auth.multiple_credentials, rate_limit.exceeded
   */
  authenticate(request: FastifyRequest, reply: FastifyReply): Promise<Authorized>;
}

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
      const authorized = apiKey
        ? await proveApiKey(apiKeys, apiKey)
        : bearer
          ? await proveIdentityToken(identityTokens, bearer)
          : null;
      if (!authorized) {
        await limits.general('anonymous', request.ip, reply);
        if (bearer) reply.header('www-authenticate', 'Bearer error="invalid_token"');
        throw new DomainError('auth.invalid_credentials');
      }
      await limits.general(apiKey ? 'apiKey' : 'jwt', authorized.credential, reply);
      return authorized;
    },
  };
}
