import type { FastifyReply } from 'fastify';
import { sendPage } from '../../pages/send-page.js';
import { wantsJson } from '../../pages/wants-json.js';
import { pageOptions } from '../page-options.js';
import { anotherPersonUrl, type Visit } from '../visit.js';

/**
 * Says that the grace period for enrolling a factor is over; only an administrator's reset lets this person in again
 * (`mfa.enrollment_required`).
 */
export function sendMfaRefused(visit: Visit): FastifyReply {
  const { request, reply } = visit;
  if (wantsJson(request)) {
    return reply.code(403).send({
      error: 'mfa.enrollment_required',
      error_description: 'the deadline for enrolling a second factor has passed; ask an administrator to reset it',
    });
  }
  // The session that led here lasts for hours: without this link, nobody else could sign in.
  return sendPage(
    request,
    reply,
    'mfa-refused',
    { otherUrl: anotherPersonUrl(visit) },
    { ...pageOptions(visit), status: 403 },
  );
}
