import type { FastifyReply, FastifyRequest } from 'fastify';
import type { PageClient } from '../pages/page-client.js';
import { type PageOptions, sendPage } from '../pages/send-page.js';
import { wantsJson } from '../pages/wants-json.js';

interface Asked {
  /** Of the form. */
  fields: Record<string, string>;
  /** Whose session it is; null: an administrator's, of whom nothing is seen on the way from another site (`SameSite=Strict`). */
  other: string | null;
  /** Who has come. */
  email: string;
  /** Where whoever is signed in goes on; null: nowhere from here. */
  stayUrl: string | null;
  client: PageClient | null;
}

/** Asks whether to go on as somebody else than who is signed in. Nothing has changed yet, and nothing does where nobody answers. */
export function askSomeoneElse(
  request: FastifyRequest,
  reply: FastifyReply,
  { fields, ...values }: Asked,
  options: PageOptions = {},
): FastifyReply {
  if (wantsJson(request)) {
    const answer = { error: 'confirmation_required', error_description: 'post the same parameters to /sso/complete' };
    return reply.code(409).header('cache-control', 'no-store').send(answer);
  }
  return sendPage(request, reply, 'sso-someone-else', { action: '/sso/complete', params: fields, ...values }, options);
}
