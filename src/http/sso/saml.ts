import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { SsoRefused } from '../../domain/sso-protocols/assertion.js';
import type { LogoutMessage } from '../../domain/sso-protocols/saml/signed-messages.js';
import type { SamlSso } from '../../domain/sso-sign-in/saml.js';
import type { Clock } from '../../platform/clock.js';
import { isSecret } from '../../platform/crypto/one-time-secret.js';
import { isUuid } from '../../platform/uuid.js';
import { readForms } from '../browsers/form-bodies.js';
import { secretCookie } from '../browsers/secret-cookie.js';
import { redirect } from '../pages/redirect.js';
import { sendPage } from '../pages/send-page.js';
import { sendSsoLogoutRefused, sendSsoLost, sendSsoRefused } from './failed-page.js';
import { goOnFor } from './go-on.js';
import { textOf } from './parameters.js';

/** A message of 256 KiB, in base64 and percent-encoded. */
const bodyLimit = 512 * 1024;

export interface SamlRoutesOptions {
  saml: SamlSso;
  baseUrl: string;
  now: Clock;
}

/** The endpoints that SAML 2.0 identity providers call through people's browsers. Form posts come without cookies. */
export const saml: FastifyPluginAsyncTypebox<SamlRoutesOptions> = async (app, { saml, baseUrl, now }) => {
  const cookie = secretCookie(baseUrl, 'sso');
  readForms(app, { bodyLimit });

  app.get('/sso/saml/:connection_id/metadata', async (request, reply) => {
    const id = connectionOf(request);
    const encryption = textOf(request.query, 'encryption') === 'true';
    return orRefused(request, reply, sendSsoLost, async () => {
      const xml = id === null ? null : await saml.metadata(id, { encryption });
      if (xml === null) return sendSsoLost(request, reply);
      return reply.header('cache-control', 'public, max-age=300').type('application/samlmetadata+xml').send(xml);
    });
  });

  app.post('/sso/saml/:connection_id/acs', async (request, reply) => {
    const connectionId = connectionOf(request);
    const samlResponse = textOf(request.body, 'SAMLResponse');
    const relayState = textOf(request.body, 'RelayState');
    if (connectionId === null || samlResponse === null) return sendSsoLost(request, reply);
    return orRefused(request, reply, sendSsoRefused, async () => {
      const answered = await saml.answer({ connectionId, samlResponse, relayState });
      if (!answered) return sendSsoLost(request, reply);
      const { browser } = answered;
      if (browser) cookie.set(reply, browser.value, browser.expiresAt, now());
      return goOnFor(request, reply, answered);
    });
  });

  app.get('/sso/saml/:connection_id/slo', async (request, reply) => {
    if (request.method === 'HEAD') return reply.send(); // a HEAD must not end anything
    const query = request.url.slice(request.url.indexOf('?') + 1);
    return singleLogout(request, reply, request.query, () => ({ query }));
  });

  app.post('/sso/saml/:connection_id/slo', async (request, reply) =>
    singleLogout(request, reply, request.body, (form) => ({ form })),
  );

  /** Handles a provider's own sign-out, or its answer to one that began here. */
  async function singleLogout(
    request: FastifyRequest,
    reply: FastifyReply,
    fields: unknown,
    messageOf: (value: string) => LogoutMessage,
  ) {
    const [id, asked, answer] = [connectionOf(request), textOf(fields, 'SAMLRequest'), textOf(fields, 'SAMLResponse')];
    const relayState = textOf(fields, 'RelayState');
    if (id === null || (asked === null) === (answer === null)) return sendSsoLost(request, reply);
    if (answer !== null) {
      const left = isSecret(relayState) ? await saml.left(id, { message: messageOf(answer), relayState }) : null;
      if (!left) return sendPage(request, reply, 'signed-out', { ...nowhere, isOver: true });
      if (left.refusal)
        request.log.info({ refusal: left.refusal }, 'nobody knows whether somebody has left a provider');
      return redirect(request, reply, '/sso/signed-out', { request: left.logoutId });
    }
    return orRefused(request, reply, sendSsoLogoutRefused, async () => {
      const answerUrl = await saml.logOut(id, { message: messageOf(asked ?? ''), relayState });
      if (answerUrl === undefined) return sendSsoLost(request, reply);
      return answerUrl === null ? sendPage(request, reply, 'signed-out', nowhere) : redirect(request, reply, answerUrl);
    });
  }
};

const nowhere = { clientUrl: null, isUnconfirmed: false, isOver: false };

async function orRefused(
  request: FastifyRequest,
  reply: FastifyReply,
  sendRefusal: typeof sendSsoRefused,
  work: () => Promise<FastifyReply>,
) {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof SsoRefused)) throw error;
    request.log.info({ refusal: error.code }, 'a message of an identity provider is refused');
    return sendRefusal(request, reply, error.code);
  }
}

function connectionOf({ params }: FastifyRequest): string | null {
  const id = textOf(params, 'connection_id');
  return isUuid(id) ? id : null;
}
