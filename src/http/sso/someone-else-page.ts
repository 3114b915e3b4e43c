import type { FastifyReply, FastifyRequest } from 'fastify';
import type { PageClient } from '../pages/page-client.js';
import { type PageOptions, sendPage } from '../pages/send-page.js';
import { wantsJson } from '../pages/wants-json.js';

interface Asked {
  /** The hidden fields of the form. */
  fields: Record<string, string>;
  /**
   * The address of the session's person; null for an administrator's session, whose cookie is not sent with a request
   * from another site (`SameSite=Strict`).
   */
  other: string | null;
  /** The address of the person who has come. */
  email: string;
  /** Where the signed-in person continues; null: nowhere from here. */
  stayUrl: string | null;
  client: PageClient | null;
}

/**
 * Asks whether to continue as somebody other than the signed-in person. Nothing has changed yet, and without an answer
 * nothing will.
 */
export function askSomeoneElse(
  request: FastifyRequest,
  reply: FastifyReply,
  { fields, ...values }: Asked,
  options: PageOptions = {},
): FastifyReply {
  if (wantsJson(request)) {
    const answer = { error: 'confirmation_required', error_description: 'post the same parameters to /sso/complete' };
    return reply.code(409).send(answer);
  }
  return sendPage(request, reply, 'sso-someone-else', { action: '/sso/complete', params: fields, ...values }, options);
}
