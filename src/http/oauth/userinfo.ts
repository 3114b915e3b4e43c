import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { DomainError } from '../../domain/errors.js';
import type { OAuthErrorCode } from '../../domain/oidc/oauth-error.js';
import { readParameters } from '../../domain/oidc/requests/parameters.js';
import type { ScopeName } from '../../domain/oidc/scopes.js';
import type { ProvenToken } from '../../domain/oidc/tokens/access-tokens.js';
import { claimedText } from '../../domain/oidc/tokens/claimed.js';
import { profileClaims } from '../../domain/oidc/tokens/claims.js';
import { organizationClaims } from '../../domain/organizations/claim.js';
import { countedAsOf } from '../principals/identity.js';
import { allowOrigin, answerPreflights } from './cors.js';
import { noStore, oauthStatusOf } from './oauth-error.js';
import type { OAuthOptions } from './options.js';

/** UserInfo (OpenID Connect Core 5.3); the token is sent as in RFC 6750 §2.1 or, in a form, §2.2. */
export const userinfo: FastifyPluginAsyncTypebox<OAuthOptions> = async (app, { provider, limits }) => {
  answerPreflights(app, '/oauth/userinfo', 'GET, POST');
  for (const method of ['GET', 'POST'] as const) {
    app.route({
      method,
      url: '/oauth/userinfo',
      async handler(request, reply) {
        noStore(reply);
        const presented = presentedTokens(request);
        const [token] = presented;
        if (presented.length !== 1) await limits.general('anonymous', request.ip, reply);
        if (presented.length > 1) return refuse(reply, 'invalid_request', 'send the token in one way only');
        // RFC 6750 §3.1: a request without a token gets the scheme and no error.
        if (token === undefined) return reply.code(401).header('www-authenticate', 'Bearer').send();
        await allowClientOf(token, request, reply);
        const proven = await prove(token);
        const isProven = proven !== null && proven !== 'wrong type';
        await (isProven
          ? limits.general('jwt', countedAsOf(proven), reply)
          : limits.general('anonymous', request.ip, reply));
        if (proven === 'wrong type') return refuse(reply, 'insufficient_scope', 'this is not the token of an end user');
        if (!proven) return refuse(reply, 'invalid_token', 'the access token is expired, revoked or not valid');
        if (!proven.scope.includes('openid'))
          return refuse(reply, 'insufficient_scope', 'the token lacks the scope openid', 'openid');
        return reply.send(await claimsOf(proven));
      },
    });
  }

  async function claimsOf({ identityId, environmentId, subject, scope, claims }: ProvenToken) {
    const info = { sub: identityId, ...profileClaims(subject, scope) };
    if (!scope.includes('org' satisfies ScopeName)) return info;
    const organizationId = typeof claims.organization_id === 'string' ? claims.organization_id : null;
    const organizations = await provider.organizationsClaim(environmentId, identityId, organizationId);
    return { ...info, ...organizationClaims(organizations) };
  }

  const prove = (token: string): Promise<ProvenToken | 'wrong type' | null> =>
    provider.accessTokens.prove(token).catch((error) => {
      if (error instanceof DomainError && error.code === 'principal.wrong_type') return 'wrong type';
      throw error;
    });

  /** Scripts of the client can read the answer to an expired token, too; so the unverified claim suffices here. */
  async function allowClientOf(token: string, request: FastifyRequest, reply: FastifyReply) {
    if (request.headers.origin === undefined) return;
    const clientId = claimedClientId(token);
    const client = clientId === null ? null : await provider.clients.find(clientId);
    if (client) allowOrigin(request, reply, client);
  }
};

function presentedTokens(request: FastifyRequest): string[] {
  const { authorization } = request.headers;
  const header = authorization === undefined ? undefined : /^Bearer +(\S+) *$/i.exec(authorization)?.[1];
  const { values, malformed } = readParameters(request.method === 'POST' ? request.body : {});
  const body = values.get('access_token');
  const twice = malformed.includes('access_token') ? ['', ''] : [];
  return [header, body, ...twice].filter((token) => token !== undefined);
}

/** The `client_id` that a token claims, verified or not; null if it claims none. */
export const claimedClientId = (token: string): string | null => claimedText(token, 'client_id');

/** @param scope the one that is required (RFC 6750 §3) */
function refuse(reply: FastifyReply, error: OAuthErrorCode, description: string, scope?: ScopeName) {
  const wanted = scope === undefined ? '' : `, scope="${scope}"`;
  return reply
    .code(oauthStatusOf(error))
    .header('www-authenticate', `Bearer error="${error}", error_description="${description}"${wanted}`)
    .send({ error, error_description: description });
}
