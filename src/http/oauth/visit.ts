import type { FastifyReply, FastifyRequest } from 'fastify';
import { type LoginMethod, methodsOf } from '../../domain/environments/login-methods.js';
import type { OpenSignIn } from '../../domain/logins/pending-sign-ins.js';
import type { Client } from '../../domain/oidc/clients/clients.js';
import { OAuthError } from '../../domain/oidc/oauth-error.js';
import type { Provider } from '../../domain/oidc/provider.js';
import { parseAccountRequest } from '../../domain/oidc/requests/account-request.js';
import {
  type AuthorizeRequest,
  clientIdOf,
  parseAuthorizeRequest,
} from '../../domain/oidc/requests/authorize-request.js';
import { readHint } from '../../domain/oidc/requests/hints.js';
import { type ReadParameters, readParameters } from '../../domain/oidc/requests/parameters.js';
import type { RequestedOrganization } from '../../domain/oidc/requests/requested-organization.js';
import { allowedOf, wantsSso } from '../../domain/organizations/barred.js';
import { inShareOf } from '../../platform/context.js';
import { answerClient } from './answer-client.js';

/** A well-formed authorization request on its way through the pages. */
export interface Visit {
  request: FastifyRequest;
  reply: FastifyReply;
  client: Client;
  authorizeRequest: AuthorizeRequest;
  hintedSubject: string | null;
  /**
   * Whether it ends at a page of the person's own account: then `authorizeRequest.redirectUri` is ours, and gets no
   * code.
   */
  toAccount: boolean;
  /** The organization of the sign-in: `organization` of the request. */
  organization: RequestedOrganization | null;
  /** The sign-in methods of the Environment that the organization allows; or all, if a recovery code can follow. */
  methods: LoginMethod[];
}

/** Parameters that a later step may repeat, but not change (RFC 6749 §4.1.1, RFC 7636 §4.3). */
const bound = [
  'client_id',
  'destination',
  'redirect_uri',
  'response_type',
  'scope',
  'state',
  'nonce',
  'code_challenge',
  'code_challenge_method',
  'organization',
] as const;

/** The parameters of a request that no later step may change, as one text to which a sealed token can be bound. */
export const boundParametersOf = ({ authorizeRequest: { parameters } }: Pick<Visit, 'authorizeRequest'>): string =>
  JSON.stringify(bound.map((name) => parameters[name] ?? null));

/**
 * Whether somebody wants to prove who they are although their organization requires its provider, to continue with one
 * of its recovery codes: `method` of the request. It only opens the pages; what the organization requires is checked
 * later.
 */
export const isRecovery = ({ parameters }: Pick<AuthorizeRequest, 'parameters'>): boolean =>
  parameters.method === 'recovery';

/** The `method` of the pages that mail a code. */
export const codeMethodOf = ({ authorizeRequest }: Pick<Visit, 'authorizeRequest'>) =>
  isRecovery(authorizeRequest) ? 'recovery' : 'code';

/**
 * Returns the parameters with `method` only where somebody has chosen that page over their provider; forms for codes
 * set their own.
 */
export function withChosenMethod({ method, ...others }: Record<string, string>): Record<string, string> {
  return method === 'password' || method === 'recovery' ? { ...others, method } : others;
}

/** A visit's authorization request as it continues later: for a page, and with the sign-in page's own choice. */
export function flowOf({ authorizeRequest }: Pick<Visit, 'authorizeRequest'>): Record<string, string> {
  const { prompt, ...parameters } = withChosenMethod(authorizeRequest.parameters);
  return prompt === undefined || authorizeRequest.prompt.none ? parameters : { ...parameters, prompt };
}

/** The request once somebody has signed in for it: without what asks for that (OpenID Connect Core 3.1.2.1). */
export function onceSignedIn({ prompt, max_age: _, ...rest }: Record<string, string>): Record<string, string> {
  return prompt?.split(' ').includes('consent') ? { ...rest, prompt: 'consent' } : rest;
}

/** Where somebody who cannot continue begins the sign-in again. */
function restartUrlsOf(visit: Pick<Visit, 'authorizeRequest' | 'methods'>) {
  const forgot = new URLSearchParams(withChosenMethod(visit.authorizeRequest.parameters));
  return {
    signInUrl: `/oauth/authorize?${new URLSearchParams(flowOf(visit))}`,
    forgotUrl: visit.methods.includes('password') ? `/oauth/password/forgot?${forgot}` : null,
  };
}

/** Where somebody else signs in, in a browser whose person cannot continue: `login_hint` named that person. */
export function anotherPersonUrl(visit: Pick<Visit, 'authorizeRequest'>): string {
  const { login_hint: _, ...parameters } = flowOf(visit);
  const prompt = visit.authorizeRequest.prompt.consent ? 'login consent' : 'login';
  return `/oauth/authorize?${new URLSearchParams({ ...parameters, prompt })}`;
}

/** Whether somebody new may sign up: not for an organization's sign-in, since they belong to none yet. */
export const letsSignUp = ({ client, organization }: Pick<Visit, 'client' | 'organization'>): boolean =>
  organization === null && client.settings.allowSelfSignup;

/** Whether a typed address may lead to an identity provider. */
export const offersSso = ({ client, organization }: Pick<Visit, 'client' | 'organization'>): boolean =>
  client.settings.hasSso && (organization === null || organization.policy.allows.sso);

type VisitsDeps = Pick<Provider, 'requestedOrganizations' | 'baseUrl' | 'clients' | 'keys'>;

/** Reads and checks the authorization requests of hosted pages. */
export function createVisits({ requestedOrganizations, baseUrl, clients, keys }: VisitsDeps) {
  /** Checks every parameter of the request; null if it was answered already. */
  async function enter(request: FastifyRequest, reply: FastifyReply, read: ReadParameters): Promise<Visit | null> {
    const client = await clients.find(clientIdOf(read));
    if (!client) throw new OAuthError('invalid_request', 'client_id is unknown');
    request.brandedClient = client;
    inShareOf(client.accountId);
    const ofAccount = parseAccountRequest(read, baseUrl);
    const parsed = ofAccount ?? parseAuthorizeRequest(read, client);
    if ('redirected' in parsed) {
      const { state, error, description, ...where } = parsed.redirected;
      const { values } = read;
      const prompt = { none: values.get('prompt') === 'none' };
      const to = {
        request,
        reply,
        client,
        authorizeRequest: { ...where, prompt, uiLocales: values.get('ui_locales') ?? null },
      };
      answerClient(to, { error, error_description: description, state, iss: baseUrl });
      return null;
    }
    const { request: authorizeRequest } = parsed;
    const hint = authorizeRequest.idTokenHint === null ? null : await readHint(keys, authorizeRequest.idTokenHint);
    const toAccount = ofAccount !== null;
    // One's own account is the same in every organization.
    const named = toAccount ? null : authorizeRequest.organization;
    const organization = named === null ? null : await requestedOrganizations(client.environmentId, named);
    const open = methodsOf(client.settings);
    const isBound = organization !== null && !(isRecovery(authorizeRequest) && wantsSso(organization.policy));
    const methods = isBound ? allowedOf(open, organization.policy) : open;
    const hintedSubject = hint?.subject ?? null;
    const visit = { request, reply, client, authorizeRequest, hintedSubject, toAccount, organization, methods };
    request.restartUrls = () => restartUrlsOf(visit);
    return visit;
  }

  return {
    enter,

    /**
     * Returns the visit of a sign-in that waits for its second factor, as it began. What the step repeats must be the
     * same.
     * @throws OAuthError invalid_request
     */
    async resume(
      request: FastifyRequest,
      reply: FastifyReply,
      pending: Pick<OpenSignIn, 'parameters' | 'oauthClientId'>,
      sent: ReadParameters,
    ): Promise<Visit> {
      const changed = bound.find((name) => {
        const value = sent.values.get(name);
        return (value !== undefined && value !== pending.parameters[name]) || sent.malformed.includes(name);
      });
      if (changed !== undefined)
        throw new OAuthError('invalid_request', `${changed} differs from the value that the sign-in started with`);
      const visit = await enter(request, reply, readParameters(pending.parameters));
      // The client may have been changed or deleted since then.
      if (visit?.client.id !== pending.oauthClientId) throw new OAuthError('invalid_request', 'the sign-in has ended');
      return visit;
    },
  };
}
