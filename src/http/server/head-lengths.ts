import type { FastifyInstance, onSendHookHandler } from 'fastify';

/**
 * Makes the answer to HEAD state the length of the GET's, or none (RFC 9110 §8.6). Fastify would say 0 if nothing was
 * produced for it, as for an export, or for a link that only a GET uses up.
 */
export function leaveOutUnknownLengths(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    if (route.method === 'HEAD') route.onSend = [route.onSend ?? [], dropZeroLength].flat();
  });
}

const dropZeroLength: onSendHookHandler = (_request, reply, payload, done) => {
  if (reply.getHeader('content-length') === '0') reply.removeHeader('content-length');
  done(null, payload);
};
