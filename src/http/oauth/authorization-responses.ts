import type { FastifyReply } from 'fastify';
import type { OAuthErrorCode } from '../../domain/oidc/oauth-error.js';
import { redirect } from '../pages/redirect.js';
import { answerClient } from './answer-client.js';
import type { Visit } from './visit.js';

/**
 * How a visit ends: at the client with a code or an error (OpenID Connect Core 3.1.2.6), or at a page of the person's
 * own account.
 */
export function createAuthorizationResponses(baseUrl: string) {
  const refuse = (visit: Visit, error: OAuthErrorCode, description: string): FastifyReply =>
    answerClient(answering(visit), {
      error,
      error_description: description,
      state: visit.authorizeRequest.state,
      iss: baseUrl,
    });
  return {
    /** Returns to the client with an error. */
    refuse,

    /** Returns to the client with `access_denied`. */
    deny: (visit: Visit): FastifyReply => refuse(visit, 'access_denied', denialOf(visit)),

    /** Returns to the client with a code; without one, to a page of the account, with `more` in its address. */
    leave(visit: Visit, code: string | null, more: Record<string, string> = {}): FastifyReply {
      const { request, reply, authorizeRequest } = visit;
      if (code === null) return redirect(request, reply, authorizeRequest.redirectUri, more);
      return answerClient(answering(visit), { code, state: authorizeRequest.state, iss: baseUrl });
    },
  };
}

const answering = ({ request, reply, client, authorizeRequest }: Visit) => ({
  request,
  reply,
  client,
  authorizeRequest: { ...authorizeRequest, uiLocales: authorizeRequest.parameters.ui_locales ?? null },
});

/**
 * The reason for `access_denied`. An application of others cannot tell a refusal from a missing membership: in both
 * cases it was allowed nothing.
 */
function denialOf({ client, organization }: Visit): string {
  if (organization === null) return 'the person has not allowed it';
  const stranger = 'the person does not belong to the organization';
  return client.consentRequired ? `${stranger}, or has not allowed it` : stranger;
}
