import type { FastifyRequest } from 'fastify';
import { DomainError } from '../../domain/errors.js';

export interface Credentials {
  /** The token of an `Authorization: Bearer` header. */
  bearer: string | null;
  apiKey: string | null;
}

/**
 * Returns the credential of a request.
 * @throws DomainError auth.multiple_credentials if it has both kinds (specification, "Authentication", rule 1)
 */
export function credentialsOf({ headers }: FastifyRequest): Credentials {
  const { authorization, 'x-api-key': apiKey } = headers;
  if (authorization !== undefined && apiKey !== undefined) throw new DomainError('auth.multiple_credentials');
  if (apiKey !== undefined) return { bearer: null, apiKey: String(apiKey) };
  return { bearer: /^Bearer +([A-Za-z0-9\-._~+/]+=*)$/i.exec(authorization ?? '')?.[1] ?? null, apiKey: null };
}
