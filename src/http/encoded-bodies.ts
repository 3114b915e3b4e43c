import type { FastifyInstance } from 'fastify';
import { DomainError } from '../domain/errors.js';

/**
 * Refuses a body that is compressed, and says that none is taken (RFC 9110 §§12.5.3, 15.5.16): what it unpacks to is bounded by
 * nothing, and read as it is it would be called malformed, which sends whoever compresses looking in the wrong place. A GET's is not
 * read, whatever it says of it.
 */
export function refuseEncodedBodies(app: FastifyInstance): void {
  app.addHook('preParsing', ({ method, headers }, reply, _payload, done) => {
    if (method === 'GET' || method === 'HEAD') return done();
    const encoding = headers['content-encoding'];
    if (['', 'identity'].includes(encoding?.trim().toLowerCase() ?? '')) return done();
    reply.header('accept-encoding', 'identity');
    done(new DomainError('body.unsupported_encoding'));
  });
}
