import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Client } from '../../domain/oidc/clients/clients.js';
import { initiateLoginUrl } from '../../domain/oidc/clients/initiate-login.js';
import type { Provider } from '../../domain/oidc/provider.js';
import { type FoundLink, type InitiateLogin, returnUrlOf } from '../../domain/one-time/identity-links.js';
import { wasJustDone } from '../../domain/one-time/sent-twice.js';
import { shownClient } from '../pages/page-client.js';
import { sendPage } from '../pages/send-page.js';
import { wantsJson } from '../pages/wants-json.js';

/** A request with a mailed link. */
export interface LinkVisit {
  request: FastifyRequest;
  reply: FastifyReply;
  link: FoundLink | null;
  /** The client of the authorization request to which the link leads back; null if the link is unknown. */
  client: Client | null;
  initiateLogin: InitiateLogin;
}

/** Finds the link's client, whose looks the pages have. */
export const linkVisit = async (
  { clients, baseUrl }: Pick<Provider, 'clients' | 'baseUrl'>,
  request: FastifyRequest,
  reply: FastifyReply,
  link: FoundLink | null,
): Promise<LinkVisit> => {
  const client = link && (await clients.find(link.clientId));
  request.brandedClient = client;
  const initiateLogin: InitiateLogin = (loginHint) => client && initiateLoginUrl(client, baseUrl, loginHint);
  return { request, reply, link, client, initiateLogin };
};

/** Whether the form repeats what its link has just done: the answer is then repeated, and nothing is done again. */
export const isSentTwice = ({ request, link }: LinkVisit, now: Date): boolean =>
  request.method === 'POST' && !wantsJson(request) && wasJustDone(link?.usedAt ?? null, now);

export const linkPageOptions = ({ client, link }: Pick<LinkVisit, 'client' | 'link'>) => ({
  client,
  uiLocales: link?.parameters.ui_locales,
});

/** Says that a link no longer works, and offers another one where possible. */
export function sendLinkVoid(visit: LinkVisit, { resendToken }: { resendToken: string | null }): FastifyReply {
  const { request, reply, link, client } = visit;
  if (wantsJson(request)) {
    return reply.code(400).send({
      error: 'invalid_request',
      error_description: 'the link is unknown, has expired or was used already',
    });
  }
  const asksAgain = link?.purpose === 'reset_password' && Object.keys(link.parameters).length > 0;
  return sendPage(
    request,
    reply,
    'link-void',
    {
      resendToken,
      forgotUrl: asksAgain ? `/oauth/password/forgot?${new URLSearchParams(link.parameters)}` : null,
      nextUrl: link && returnUrlOf(link, visit.initiateLogin),
      client: client && shownClient(client),
    },
    { ...linkPageOptions(visit), status: 400 },
  );
}
