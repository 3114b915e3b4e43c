import type { FastifyInstance } from 'fastify';

/**
 * Takes a body of no bytes for none, whatever type it is said to have, unless a parser of the route knows that type.
 * `curl --data ''` calls it a form, and would otherwise be told to send JSON to an action that reads no body.
 */
export function ignoreTypesOfNothing(app: FastifyInstance): void {
  app.addHook('onRequest', ({ headers, server }, _reply, done) => {
    const { 'content-type': contentType, 'content-length': length, 'transfer-encoding': encoding } = headers;
    const isNothing = length === '0' && encoding === undefined;
    if (contentType && isNothing && !server.hasContentTypeParser(mediaTypeOf(contentType)))
      delete headers['content-type'];
    done();
  });
}

const mediaTypeOf = (contentType: string) => contentType.split(';', 1).join().trim().toLowerCase();
