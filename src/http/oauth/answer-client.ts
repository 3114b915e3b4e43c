import type { FastifyReply, FastifyRequest } from 'fastify';
import type { RedirectedError } from '../../domain/oidc/requests/authorize-request.js';
import { redirect } from '../pages/redirect.js';
import { type BrandedClient, sendPage } from '../pages/send-page.js';
import { wantsJson } from '../pages/wants-json.js';

interface Answering {
  request: FastifyRequest;
  reply: FastifyReply;
  client: BrandedClient;
  authorizeRequest: Pick<RedirectedError, 'redirectUri' | 'responseMode'> & {
    prompt: { none: boolean };
    uiLocales: string | null;
  };
}

/**
 * Sends an authorization response to the client: in the query of a redirect, or in a form that the browser posts, on a
 * page that continues by itself (OAuth 2.0 Form Post Response Mode 1.0). A script gets the address and the fields to
 * post.
 */
export function answerClient(
  { request, reply, client, authorizeRequest: { redirectUri, responseMode, prompt, uiLocales } }: Answering,
  parameters: Record<string, string | null>,
): FastifyReply {
  if (responseMode === 'query') return redirect(request, reply, redirectUri, parameters);
  const said = Object.fromEntries(
    Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== null),
  );
  if (wantsJson(request)) {
    return reply.send({ redirect_to: redirectUri, form_post: said });
  }
  // Applications that ask without a page do so in a hidden frame, where nobody can press a button.
  const isFramed = prompt.none && request.headers['sec-fetch-dest'] !== 'document';
  const values = { action: redirectUri, params: said, hasButton: !isFramed };
  return sendPage(request, reply, 'form-post', values, {
    client: isFramed ? null : client,
    uiLocales,
    formActions: [redirectUri],
    framedBy: isFramed ? redirectUri : null,
    scripts: ['form-post'],
    namesOrigin: true,
  });
}
