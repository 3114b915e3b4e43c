import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Client } from '../../../domain/oidc/clients/clients.js';
import { OAuthError } from '../../../domain/oidc/oauth-error.js';
import type { Provider } from '../../../domain/oidc/provider.js';
import { parseAccountRequest } from '../../../domain/oidc/requests/account-request.js';
import { parseAuthorizeRequest } from '../../../domain/oidc/requests/authorize-request.js';
import type { ReadParameters } from '../../../domain/oidc/requests/parameters.js';
import type { Pages } from '../../pages/pages.js';
import { sendPage } from '../../pages/send-page.js';
import { wantsJson } from '../../pages/wants-json.js';

/** The texts for why a sign-in cannot continue. */
type Texts = Pages['mfa-expired']['texts'];

/**
 * Says that a sign-in cannot continue, and offers to begin again with the parameters that the form replayed, if they
 * are a valid request of a client.
 */
export const createExpiredPage =
  ({ baseUrl, clients }: Pick<Provider, 'baseUrl' | 'clients'>) =>
  async (
    request: FastifyRequest,
    reply: FastifyReply,
    read: ReadParameters,
    texts: Texts = 'mfa_expired',
  ): Promise<FastifyReply> => {
    if (wantsJson(request)) {
      const error_description = 'the sign-in is unknown, has expired or is complete';
      return reply.code(400).send({ error: 'expired', error_description });
    }
    const client = await clients.find(read.values.get('client_id') ?? '');
    const parameters = client && repeatable(read, client, baseUrl);
    const againUrl = parameters && `/oauth/authorize?${new URLSearchParams(parameters)}`;
    const uiLocales = read.values.get('ui_locales');
    return sendPage(request, reply, 'mfa-expired', { texts, againUrl }, { status: 400, client, uiLocales });
  };

function repeatable(read: ReadParameters, client: Client, baseUrl: string): Record<string, string> | null {
  try {
    const parsed = parseAccountRequest(read, baseUrl) ?? parseAuthorizeRequest(read, client);
    return 'request' in parsed ? parsed.request.parameters : null;
  } catch (error) {
    if (error instanceof OAuthError) return null;
    throw error;
  }
}
