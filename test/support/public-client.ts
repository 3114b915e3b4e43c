import type { OAuthClient } from '../../entities/oauth-client.js';
import type { EnvironmentScope } from '../../src/platform/scope.js';
import { send, type TestApi } from './api.js';

/** A client of an app without a backend, with the defaults for the rest. */
export const publicClient = {
  name: 'Test client',
  clientType: 'public' as const,
  redirectUris: ['https://app.example.com/callback'],
  postLogoutRedirectUris: [],
  tokenEndpointAuthMethod: 'none' as const,
  requirePkce: true,
  rotateRefreshTokens: true,
  jwks: null,
  jwksUri: null,
  logoUrl: null,
};

export async function newPublicClient({ services }: Pick<TestApi, 'services'>, scope: EnvironmentScope) {
  const { client } = await services.clientManagement.create(scope, publicClient);
  return client;
}

/** Signs a person in at a client, by the end-user API. @returns the request headers that authenticate them */
export async function signedInAt(
  { app }: Pick<TestApi, 'app'>,
  { clientId }: Pick<OAuthClient, 'clientId'>,
  person: { email: string; password: string },
): Promise<Record<string, string>> {
  const payload = { client_id: clientId, ...person };
  const response = await send(app, 200, { method: 'POST', url: '/v1/identity/auth/login', payload });
  return { authorization: `Bearer ${response.json().data.access_token}` };
}
