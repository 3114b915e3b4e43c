import { randomUUID } from 'node:crypto';
import type { Agent } from 'node:http';
import { newPkce } from '../oauth/sign-in.js';
import { redirectUri, type Seed } from '../seed.js';
import type { Service } from '../service.js';
import { call, type Outcome } from './load.js';

export interface Tokens {
  access_token: string;
  refresh_token: string;
}

const form = { 'content-type': 'application/x-www-form-urlencoded' };
const json = { 'content-type': 'application/json' };

const formPost = (url: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
  call(url, { method: 'POST', headers: { ...form, ...headers }, body: new URLSearchParams(fields).toString() });

/** Returns the body of an answer. @throws Error if it has another status */
export function answered<T>(outcome: Outcome, status = 200): T {
  if (outcome.kind !== 'answer' || outcome.status !== status) {
    throw new Error(`${status} expected: ${JSON.stringify(outcome)}`);
  }
  return JSON.parse(outcome.body) as T;
}

/** Returns the form of an end user's sign-in by password, and the form that redeems the code that it leads to. */
export function endUserForms({ publicClient: client_id, ana }: Seed) {
  const { verifier, challenge } = newPkce();
  return {
    authorization: {
      client_id,
      redirect_uri: redirectUri,
      response_type: 'code',
      scope: 'openid',
      code_challenge: challenge,
      code_challenge_method: 'S256',
      ...ana,
    },
    redemption: (redirectTo: string) => ({
      grant_type: 'authorization_code',
      client_id,
      code: new URL(redirectTo).searchParams.get('code') ?? '',
      redirect_uri: redirectUri,
      code_verifier: verifier,
    }),
  };
}

/** Signs in an end user; returns the first refresh token. */
export async function signInEndUser({ baseUrl }: Service, seed: Seed): Promise<string> {
  const { authorization, redemption } = endUserForms(seed);
  const accept = { accept: 'application/json' };
  const { redirect_to } = answered<{ redirect_to: string }>(
    await formPost(`${baseUrl}/oauth/authorize`, authorization, accept),
  );
  return answered<Tokens>(await formPost(`${baseUrl}/oauth/token`, redemption(redirect_to))).refresh_token;
}

export const refreshEndUser = ({ baseUrl }: Service, { publicClient }: Seed, refresh_token: string) =>
  formPost(`${baseUrl}/oauth/token`, { grant_type: 'refresh_token', client_id: publicClient, refresh_token });

export const signInAdmin = ({ baseUrl }: Service, { admin }: Seed, agent?: Agent, onSent?: () => void) =>
  call(`${baseUrl}/v1/auth/login`, { method: 'POST', headers: json, body: JSON.stringify(admin), agent }, onSent);

/** Returns calls of the Portal by a person who stays signed in. */
export async function portal(service: Service, seed: Seed) {
  const { access_token } = answered<{ data: Tokens }>(await signInAdmin(service, seed)).data;
  const headers = { authorization: `Bearer ${access_token}` };
  const account = `${service.baseUrl}/portal/v1/accounts/${seed.accountSlug}`;
  const environment = `${account}/applications/${seed.applicationSlug}/environments/${seed.environmentSlug}`;
  return {
    me: () => call(`${account}/me`, { headers }),
    clients: (query = '') => call(`${environment}/oauth-clients${query}`, { headers }),
    client: (id: string) => call(`${environment}/oauth-clients/${id}`, { headers }),
    createClient: () =>
      call(`${environment}/oauth-clients`, {
        method: 'POST',
        headers: { ...headers, ...json },
        body: JSON.stringify({ name: `Made ${randomUUID()}`, client_type: 'public', redirect_uris: [redirectUri] }),
      }),
  };
}
