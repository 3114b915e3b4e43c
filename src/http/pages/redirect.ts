import type { FastifyReply, FastifyRequest } from 'fastify';
import { withParameters } from '../../domain/oidc/clients/redirect-uris.js';
import { wantsJson } from './wants-json.js';

/** Redirects the browser; a script gets the target. With 303, since the answer to a form is fetched with GET. */
export function redirect(
  request: FastifyRequest,
  reply: FastifyReply,
  uri: string,
  parameters: Record<string, string | null> = {},
): FastifyReply {
  const target = withParameters(uri, parameters);
  if (wantsJson(request)) return reply.send({ redirect_to: target });
  // A header is ASCII; other characters of a registered URI are escaped as a browser would.
  return reply
    .code(303)
    .header('location', target.replace(/[^\x21-\x7e]+/gu, encodeURIComponent))
    .send();
}
