import type { FastifyReply } from 'fastify';
import type { Begun } from '../../../domain/logins/pending-sign-ins.js';
import type { EnrollableKind } from '../../../domain/mfa/gate.js';
import { shownClient } from '../../pages/page-client.js';
import { sendPage } from '../../pages/send-page.js';
import { wantsJson } from '../../pages/wants-json.js';
import { pageOptions } from '../page-options.js';
import type { Visit } from '../visit.js';

export interface ShownEnrollment extends Omit<Begun, 'email'> {
  factors: readonly EnrollableKind[];
  /** Until when it can be postponed; null if it cannot. */
  until: Date | null;
}

/** Asks the person to choose a factor to enroll. A script gets the same in JSON. */
export function sendEnrollment(visit: Visit, { token, expiresAt, factors, until }: ShownEnrollment): FastifyReply {
  const { request, reply, client, authorizeRequest } = visit;
  if (wantsJson(request)) {
    return reply.code(401).send({
      error: 'mfa_enrollment_required',
      error_description: 'a second factor must be enrolled',
      enrollment_token: token,
      factors,
      expires_at: expiresAt.toISOString(),
      grace_expires_at: until?.toISOString() ?? null,
    });
  }
  return sendPage(
    request,
    reply,
    'mfa-enroll',
    {
      action: '/oauth/mfa/enroll',
      params: authorizeRequest.parameters,
      token,
      factors,
      until,
      client: shownClient(client),
    },
    pageOptions(visit),
  );
}
