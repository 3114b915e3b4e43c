import type { FastifyRequest } from 'fastify';
import { DomainError } from '../domain/errors.js';

/** Whether what sends a request tells nothing of pages, as browsers do. Only good for forms: a link that is followed may not either. */
export const isNoBrowser = ({ headers }: FastifyRequest): boolean =>
  headers.origin === undefined && headers['sec-fetch-site'] === undefined;

/**
 * A form that signs in, chooses or signs out must come from our own page: another site must not sign a browser in as
 * somebody else. What is no browser sends neither header and has no cookies to protect.
 * @throws DomainError origin.foreign
 */
export function assertOwnOrigin({ headers }: FastifyRequest, baseUrl: string): void {
  const { origin, 'sec-fetch-site': site } = headers;
  if (origin !== undefined && origin !== baseUrl) throw new DomainError('origin.foreign'); // "null" is foreign too
  if (site !== undefined && site !== 'same-origin' && site !== 'none') throw new DomainError('origin.foreign');
}
