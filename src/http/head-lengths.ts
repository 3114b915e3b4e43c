import type { FastifyInstance, onSendHookHandler } from 'fastify';

/**
 * Has the answer to HEAD say the length of the GET's, or none (RFC 9110 §8.6). Fastify says 0 where nothing was made for it: of an export,
 * or of a link that only a GET uses up.
 */
export function leaveOutUnknownLengths(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    if (route.method === 'HEAD') route.onSend = [route.onSend ?? [], leaveOutNone].flat();
  });
}

const leaveOutNone: onSendHookHandler = (_request, reply, payload, done) => {
  if (reply.getHeader('content-length') === '0') reply.removeHeader('content-length');
  done(null, payload);
};
