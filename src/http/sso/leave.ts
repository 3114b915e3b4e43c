import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clients } from '../../domain/oidc/clients/clients.js';
import type { ProviderSignOut, SignOutStep } from '../../domain/sso-sign-in/provider-sign-out.js';
import type { Clock } from '../../platform/clock.js';
import { isSecret } from '../../platform/crypto/one-time-secret.js';
import { isUuid } from '../../platform/uuid.js';
import { secretCookie } from '../browsers/secret-cookie.js';
import { shownClient } from '../pages/page-client.js';
import { redirect } from '../pages/redirect.js';
import { sendPage } from '../pages/send-page.js';
import { wantsJson } from '../pages/wants-json.js';
import { textOf } from './parameters.js';

type To = Extract<SignOutStep, { url: string }>;
type Past = Exclude<SignOutStep, To>;

export interface LeaveOptions {
  leaving: ProviderSignOut;
  clients: Pick<Clients, 'find'>;
  baseUrl: string;
  now: Clock;
}

/** Signs browsers out of identity providers after they have signed out here: each page on the way can be the last. */
export const leave: FastifyPluginAsyncTypebox<LeaveOptions> = async (app, { leaving, clients, baseUrl, now }) => {
  const cookie = secretCookie(baseUrl, 'sso');

  app.get('/sso/leave', async (request, reply) => {
    const token = textOf(request.query, 'token');
    if (request.method === 'HEAD') return reply.send(); // a HEAD must not use up anything
    return go(request, reply, isSecret(token) ? await leaving.leave(token, cookie.read(request)) : null);
  });

  app.get('/sso/signed-out', async (request, reply) => {
    const id = textOf(request.query, 'request');
    if (request.method === 'HEAD') return reply.send();
    return go(request, reply, isUuid(id) ? await leaving.goOn(id, cookie.read(request)) : null);
  });

  /** OpenID Connect RP-Initiated Logout 1.0 §3: a provider only reports that the browser was there. */
  app.get('/sso/oidc/:connection_id/signed-out', async (request, reply) => {
    const [connectionId, state] = [textOf(request.params, 'connection_id'), textOf(request.query, 'state')];
    if (request.method === 'HEAD') return reply.send();
    const known = isUuid(connectionId) && isSecret(state) ? { connectionId, state } : null;
    const answered = known && (await leaving.answered(known, async () => {}));
    return answered
      ? redirect(request, reply, '/sso/signed-out', { request: answered.logoutId })
      : go(request, reply, null);
  });

  async function go(request: FastifyRequest, reply: FastifyReply, step: SignOutStep | null) {
    if (!step) return sendSignedOut(request, reply, null);
    if ('url' in step) {
      cookie.set(reply, step.browser, step.expiresAt, now());
      return wantsJson(request) ? redirect(request, reply, step.url) : sendOn(request, reply, step);
    }
    const { redirectUri } = step.onward;
    return step.isConfirmed && redirectUri !== null
      ? redirect(request, reply, redirectUri)
      : sendSignedOut(request, reply, step);
  }

  /**
   * Many browsers come from a form, of the application or of the previous provider, and they apply that page's
   * `form-action`, which does not know this provider, to all redirects after it. A page of ours in between ends that
   * chain.
   */
  async function sendOn(request: FastifyRequest, reply: FastifyReply, { url, onward }: To) {
    const { redirectUri, clientId, uiLocales } = onward;
    const client = clientId === null ? null : await clients.find(clientId);
    const shown = client && shownClient(client);
    // No form of ours leads there; but an application that waits for its popup to return must not be cut off from it.
    const formActions = redirectUri === null ? [] : [redirectUri];
    const values = { url, client: shown, to: 'sign_out' as const };
    return sendPage(request, reply, 'sso-leave', values, { client, uiLocales, formActions });
  }

  async function sendSignedOut(request: FastifyRequest, reply: FastifyReply, step: Past | null) {
    const { redirectUri = null, homeUrl = null, clientId = null, uiLocales = null } = step?.onward ?? {};
    const isUnconfirmed = step !== null && !step.isConfirmed;
    if (wantsJson(request)) {
      return reply.send({ redirect_to: redirectUri, is_unconfirmed: isUnconfirmed });
    }
    const client = clientId === null ? null : await clients.find(clientId);
    const values = { clientUrl: redirectUri ?? homeUrl, isUnconfirmed, isOver: step === null };
    return sendPage(request, reply, 'signed-out', values, { client, uiLocales });
  }
};
