import type { FastifyReply, FastifyRequest } from 'fastify';
import { DomainError } from '../../domain/errors.js';
import type { RateLimits } from '../rate-limits.js';
import { credentialsOf } from './credentials.js';

/**
 * Refuses callers before anybody is known, counted by where they call from: a credential that is good elsewhere asks as much of the
 * database as one that is good here.
 */
export function refusing(limits: Pick<RateLimits, 'general'>, request: FastifyRequest, reply: FastifyReply) {
  const count = () => limits.general('anonymous', request.ip, reply);
  return {
    /** What proving them came to: a credential of another kind is counted, and an outage is nobody's doing. */
    async failed(error: unknown): Promise<never> {
      if (error instanceof DomainError && error.code === 'principal.wrong_type') await count();
      throw error;
    },
    /** Of a credential that is missing, or not alive. @throws DomainError auth.invalid_credentials */
    async unproved(): Promise<never> {
      await count();
      if (credentialsOf(request).bearer) reply.header('www-authenticate', 'Bearer error="invalid_token"'); // RFC 6750 §3.1
      throw new DomainError('auth.invalid_credentials');
    },
  };
}
