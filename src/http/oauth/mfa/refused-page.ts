import type { FastifyReply } from 'fastify';
import { pageOptions, sendPage, wantsJson } from '../pages.js';
import type { Visit } from '../visit.js';

/** The time to enroll a factor is over; only an admin's reset opens the door again (`mfa.enrollment_required`). */
export function sendMfaRefused(visit: Visit): FastifyReply {
  const { request, reply } = visit;
  if (wantsJson(request)) {
    return reply.code(403).header('cache-control', 'no-store').send({
      error: 'mfa.enrollment_required',
      error_description: 'the time to enroll a second factor is over; ask an administrator to reset it',
    });
  }
  return sendPage(request, reply, 'mfa-refused', {}, { ...pageOptions(visit), status: 403 });
}
