import type { FastifyInstance, FastifyRequest } from 'fastify';
import { DomainError, unstorable } from '../../domain/errors.js';
import { alteredIn, unstorableIn } from '../../platform/database/storable.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * The array of the body whose elements are handled one by one (`operation.ts`): the handler reports which of them
     * cannot be stored.
     */
    eachAlone?: string | undefined;
  }
}

/**
 * Refuses bodies that would be stored differently than they were sent (`alteredIn`), on every surface and of every
 * type: a lone surrogate (`"\ud800"`, RFC 8259 §8.2) becomes U+FFFD in UTF-8, so the answer would differ from the next
 * read, and two passwords that differ only in it would be the same. URLs and forms need no check: percent-decoding
 * yields no lone surrogates. NUL is not altered: no address or token has it, and PostgreSQL refuses to store it.
 * @throws DomainError validation.failed with `unstorable` for the field, in the form of the surface's errors
 */
export function refuseUnstorableBodies(app: FastifyInstance): void {
  app.addHook('preValidation', ({ body, routeOptions: { config } }, _reply, done) => {
    const field = alteredIn(config.eachAlone ? { ...(body as object), [config.eachAlone]: null } : body);
    done(field === null ? undefined : new DomainError('validation.failed', { details: [{ ...unstorable, field }] }));
  });
}

/** Returns where a request has what PostgreSQL has refused to store, since its error does not say; '' if nowhere. */
export function placeOfUnstorable({ body, query }: FastifyRequest): string {
  const inQuery = unstorableIn(query);
  return unstorableIn(body) ?? (inQuery === null ? '' : `query.${inQuery}`);
}
