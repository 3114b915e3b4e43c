import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Client } from '../../domain/oidc/clients/clients.js';
import { withParameters } from '../../domain/oidc/clients/redirect-uris.js';
import { shownClient } from '../pages/page-client.js';
import { redirect } from '../pages/redirect.js';
import { sendPage } from '../pages/send-page.js';
import { wantsJson } from '../pages/wants-json.js';

interface Going {
  request: FastifyRequest;
  reply: FastifyReply;
  client: Client;
  uiLocales: string | null | undefined;
  /**
   * The application's URI at which it ends, if any: an application that waits for its popup to return is not cut off
   * from it.
   */
  redirectUri?: string;
}

/**
 * Continues to where somebody signs in, or is redirected. From there, they may be redirected to their identity provider
 * at once, and browsers apply the `form-action` of the page whose form began it to that: so after a form, a page leads
 * on instead (docs/decisions/0038).
 */
export function onToSignIn(
  { request, reply, client, uiLocales, redirectUri }: Going,
  uri: string,
  parameters: Record<string, string>,
): FastifyReply {
  const mayLeave = request.method === 'POST' && client.settings.hasSso && !wantsJson(request);
  if (!mayLeave) return redirect(request, reply, uri, parameters);
  const shown = shownClient(client);
  const url = withParameters(uri, parameters);
  const options = { client, uiLocales, formActions: redirectUri === undefined ? [] : [redirectUri] };
  return sendPage(request, reply, 'sso-leave', { url, client: shown, to: 'sign_in' }, options);
}
