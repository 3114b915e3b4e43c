import type { LightMyRequestResponse } from 'fastify';
import { password, type TestClient } from './oauth/environment.js';
import type { TestProvider } from './oauth/provider.js';

type Headers = Record<string, string>;

/** Returns the calls of a client with its own pages to `/v1/identity/auth`. */
export function apiOf({ app }: Pick<TestProvider, 'app'>) {
  const send =
    (method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS') =>
    (path: string, payload?: object, headers: Headers = {}): Promise<LightMyRequestResponse> =>
      app.inject({ method, url: `/v1/identity/auth${path}`, headers, ...(payload && { payload }) });
  const post = send('POST');
  return {
    get: (path: string, headers: Headers = {}) => send('GET')(path, undefined, headers),
    delete: (path: string, headers: Headers = {}) => send('DELETE')(path, undefined, headers),
    options: (path: string, headers: Headers = {}) => send('OPTIONS')(path, undefined, headers),
    put: send('PUT'),
    patch: send('PATCH'),
    post,
    login: (
      client: Pick<TestClient, 'clientId'>,
      { email }: { email: string },
      more: object = {},
      headers: Headers = {},
    ) => post('/login', { client_id: client.clientId, email, password, ...more }, headers),
    /** Signs in; returns the login result. @throws Error if it does not succeed */
    async signedIn(
      client: Pick<TestClient, 'clientId'>,
      identity: { email: string },
      more: object = {},
    ): Promise<LoginResult> {
      const answer = await this.login(client, identity, more);
      if (answer.statusCode !== 200) throw new Error(`no sign-in: ${answer.body}`);
      return answer.json().data;
    },
  };
}

export interface LoginResult {
  requires_application_selection: boolean;
  requires_mfa_challenge: boolean;
  expires_in: number;
  identity: { id: string; email: string; first_name: string; last_name: string };
  access_token: string;
  token_type: string;
  applications: { id: string; name: string; slug: string }[];
  mfa_challenge: { challenge_token: string; available_factors: string[]; expires_at: string };
  mfa_enrollment_pending: boolean;
  grace_expires_at: string | null;
  refresh_token: string;
  scope: string;
  selection_token: string;
}

export const bearer = (token: string): Headers => ({ authorization: `Bearer ${token}` });

/** Returns all of a refusal but the request id and date, to compare refusals that must not differ by cause. */
export function shapeOf({ statusCode, headers, body }: LightMyRequestResponse) {
  const { 'x-request-id': _, date: __, ...rest } = headers;
  const { error } = JSON.parse(body);
  return { statusCode, headers: rest, error: { ...error, timestamp: '' } };
}
