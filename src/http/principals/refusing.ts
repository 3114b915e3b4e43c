import type { FastifyReply, FastifyRequest } from 'fastify';
import { DomainError, type ErrorDetail } from '../../domain/errors.js';
import type { RateLimits } from '../surfaces/rate-limits.js';
import { type Credentials, credentialsOf } from './credentials.js';

/**
 * Refuses callers who are not authenticated, counted by network address: a credential that is valid elsewhere costs the
 * database as much as one that is valid here.
 * @param takesKeys whether an API key could prove anything
 */
export function refusing(
  limits: Pick<RateLimits, 'general'>,
  request: FastifyRequest,
  reply: FastifyReply,
  { takesKeys = false } = {},
) {
  const count = () => limits.general('anonymous', request.ip, reply);
  return {
    /** Rethrows a failure of the proof. A credential of another kind is counted; an outage is nobody's doing. */
    async failed(error: unknown): Promise<never> {
      if (error instanceof DomainError && error.code === 'principal.wrong_type') await count();
      throw error;
    },
    /** Refuses a credential that is missing or not alive. @throws DomainError auth.invalid_credentials */
    async unproved(): Promise<never> {
      await count();
      const credentials = credentialsOf(request);
      if (credentials.bearer) reply.header('www-authenticate', 'Bearer error="invalid_token"'); // RFC 6750 §3.1
      const slip = slipIn(credentials, takesKeys);
      throw new DomainError('auth.invalid_credentials', slip ? { details: [slip] } : {});
    },
  };
}

/** The mistake that the request alone shows, without a query: it does not reveal what is valid. */
function slipIn({ bearer, apiKey }: Credentials, takesKeys: boolean): ErrorDetail | null {
  const slip = (code: string, message: string) => ({ field: '', code, message });
  if (bearer === null && apiKey === null)
    return slip('missing', `needs a token as Authorization: Bearer${takesKeys ? ', or an API key as X-API-Key' : ''}`);
  if (bearer?.startsWith('ghk_'))
    return slip('misplaced', takesKeys ? 'an API key goes into X-API-Key' : 'takes access tokens, and no API keys');
  if (apiKey !== null && !takesKeys) return slip('misplaced', 'takes access tokens, and no API keys');
  return null;
}
