import type { FastifyInstance } from 'fastify';
import { DomainError } from '../../domain/errors.js';

/**
 * Refuses a compressed body, and says that none is accepted (RFC 9110 §§12.5.3, 15.5.16): unpacked it could have any
 * size, and if it were parsed as it is, it would be called malformed, which misleads the client's developer. The body
 * of a GET is not read, whatever its headers say.
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
