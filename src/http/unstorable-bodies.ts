import type { FastifyInstance } from 'fastify';
import { DomainError, unstorable } from '../domain/errors.js';
import { alteredIn } from '../platform/database/storable.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The array of the body whose elements stand each for itself (`operation.ts`): the handler says which of them cannot be stored. */
    eachAlone?: string | undefined;
  }
}

/**
 * Refuses bodies that would be kept otherwise than they were sent (`alteredIn`), on every surface and whatever their type is: half a
 * character (`"\ud800"`, RFC 8259 §8.2) is U+FFFD in UTF-8, so what is answered would not be what the next read says, and two passwords
 * that differ in it would be one. URLs and forms need no such look: percent-decoding knows no halves. NUL is not altered: it is nobody's
 * address or token, and PostgreSQL refuses to keep it.
 * @throws DomainError validation.failed with `unstorable` of the field, in the form of the surface's errors
 */
export function refuseUnstorableBodies(app: FastifyInstance): void {
  app.addHook('preValidation', ({ body, routeOptions: { config } }, _reply, done) => {
    const field = alteredIn(config.eachAlone ? { ...(body as object), [config.eachAlone]: null } : body);
    done(field === null ? undefined : new DomainError('validation.failed', { details: [{ ...unstorable, field }] }));
  });
}
