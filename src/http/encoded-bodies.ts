import type { FastifyInstance } from 'fastify';
import { DomainError } from '../domain/errors.js';

/**
 * Refuses a body that is compressed, and says that none is taken (RFC 9110 §§12.5.3, 15.5.16): what it unpacks to is bounded by
 * nothing, and read as it is it would be called malformed, which sends whoever compresses looking in the wrong place.
 */
export function refuseEncodedBodies(app: FastifyInstance): void {
  app.addHook('preParsing', ({ headers }, reply, _payload, done) => {
    const encoding = headers['content-encoding'];
    if (encoding === undefined || /^\s*(identity)?\s*$/i.test(encoding)) return done();
    reply.header('accept-encoding', 'identity');
    done(new DomainError('body.unsupported_encoding'));
  });
}
