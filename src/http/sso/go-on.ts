import type { FastifyReply, FastifyRequest } from 'fastify';
import { redirect } from '../pages/redirect.js';

/** Sends a browser that has brought a provider's answer to where it is let in, with the proof that it brought it. */
export const goOnFor = (
  request: FastifyRequest,
  reply: FastifyReply,
  { requestId, deliverer }: { requestId: string; deliverer: string | null },
): FastifyReply => redirect(request, reply, '/sso/complete', { request: requestId, answer: deliverer });
