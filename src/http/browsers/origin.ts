import type { FastifyRequest } from 'fastify';
import { DomainError } from '../../domain/errors.js';

/**
 * Returns whether a request lacks the headers by which browsers name the sending page. Only usable for forms: a
 * followed link may lack them, too.
 */
export const isNoBrowser = ({ headers }: FastifyRequest): boolean =>
  headers.origin === undefined && headers['sec-fetch-site'] === undefined;

/**
 * Checks that a form that signs in, chooses or signs out comes from our own page: another site must not sign a browser
 * in as somebody else. Clients that are not browsers send neither header, and have no cookies to protect.
 * @throws DomainError origin.foreign
 */
export function assertOwnOrigin({ headers }: FastifyRequest, baseUrl: string): void {
  const { origin, 'sec-fetch-site': site } = headers;
  if (origin !== undefined && origin !== baseUrl) throw new DomainError('origin.foreign'); // "null" is foreign too
  if (site !== undefined && site !== 'same-origin' && site !== 'none') throw new DomainError('origin.foreign');
}
