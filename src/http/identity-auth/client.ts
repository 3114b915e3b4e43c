import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { DomainError, invalidField } from '../../domain/errors.js';
import { clientParameters } from '../../domain/oidc/clients/authentication.js';
import type { Client } from '../../domain/oidc/clients/clients.js';
import { OAuthError } from '../../domain/oidc/oauth-error.js';
import type { Provider } from '../../domain/oidc/provider.js';
import { readParameters } from '../../domain/oidc/requests/parameters.js';
import { countedAs } from '../principals/client-limits.js';
import type { IdentityAuthOptions } from './options.js';

const secretText = (description: string) => Type.Optional(Type.String({ maxLength: 8192, description }));

/** The client's fields. Confidential clients authenticate as at the token endpoint: by Basic, or in the body. */
export const ClientFields = {
  client_id: Type.String({ maxLength: 200 }),
  client_secret: secretText('`client_secret_post`, for confidential clients.'),
  client_assertion: secretText('`private_key_jwt` (RFC 7523), for confidential clients.'),
  client_assertion_type: secretText('`urn:ietf:params:oauth:client-assertion-type:jwt-bearer`'),
};

const basicOf = ({ headers: { authorization } }: FastifyRequest) =>
  /^Basic\b/i.test(authorization ?? '') ? authorization : undefined;

/**
 * Authenticates the client of a request, by the method with which it is registered.
 * @throws DomainError auth.invalid_credentials, validation.failed, service.unavailable
 */
export async function authenticateClient(
  { clientAuthentication }: Pick<Provider, 'clientAuthentication'>,
  request: FastifyRequest,
): Promise<Client> {
  const body = request.body as Record<string, unknown>;
  const named = Object.fromEntries(clientParameters.map((name) => [name, body[name]]));
  return clientAuthentication.authenticate(basicOf(request), readParameters(named).values).catch(asRefusal);
}

/** Like `authenticateClient`, but counted as at the token endpoint. @throws DomainError rate_limit.exceeded */
export const countedClient = (
  { provider, limits }: Pick<IdentityAuthOptions, 'provider' | 'limits'>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Client> => countedAs(limits, request, reply, authenticateClient(provider, request));

/** The client that a request names, authenticated or not: enough to decide whose scripts may read the answer. */
export async function namedClient(
  { clients }: Pick<Provider, 'clients'>,
  { body }: FastifyRequest,
): Promise<Client | null> {
  const clientId = (body as { client_id?: unknown } | null | undefined)?.client_id;
  return typeof clientId === 'string' ? clients.find(clientId) : null;
}

/** Translates the provider's refusals into those of this surface. */
export function asRefusal(error: unknown): never {
  if (!(error instanceof OAuthError)) throw error;
  if (error.code === 'invalid_client' || error.code === 'invalid_grant') {
    throw new DomainError('auth.invalid_credentials', { cause: error });
  }
  throw invalidField(error.code === 'invalid_scope' ? 'scope' : '', error.code, error.message);
}
