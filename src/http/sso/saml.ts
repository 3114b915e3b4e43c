import formbody from '@fastify/formbody';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { SsoRefused } from '../../domain/sso-protocols/assertion.js';
import type { SamlSso } from '../../domain/sso-sign-in/saml.js';
import type { Clock } from '../../platform/clock.js';
import { redirect, sendPage } from '../oauth/pages.js';
import { secretCookie } from '../oauth/secret-cookie.js';
import { sendSsoLost, sendSsoRefused } from '../oauth/sso-failed-page.js';

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** A message of 256 KiB, in base64 and percent-encoded. */
const bodyLimit = 512 * 1024;

export interface SamlRoutesOptions {
  saml: SamlSso;
  baseUrl: string;
  now: Clock;
}

/** What identity providers that speak SAML 2.0 call, by way of people's browsers. Form posts come without cookies. */
export const saml: FastifyPluginAsyncTypebox<SamlRoutesOptions> = async (app, { saml, baseUrl, now }) => {
  const cookie = secretCookie(baseUrl, 'sso');
  await app.register(formbody, { bodyLimit });

  app.get('/sso/saml/:connection_id/metadata', async (request, reply) => {
    const id = connectionOf(request);
    const xml = id === null ? null : await saml.metadata(id);
    if (xml === null) return sendSsoLost(request, reply);
    return reply.header('cache-control', 'public, max-age=300').type('application/samlmetadata+xml').send(xml);
  });

  app.post('/sso/saml/:connection_id/acs', async (request, reply) => {
    const connectionId = connectionOf(request);
    const samlResponse = field(request.body, 'SAMLResponse');
    const relayState = field(request.body, 'RelayState');
    if (connectionId === null || samlResponse === null) return sendSsoLost(request, reply);
    return orRefused(request, reply, async () => {
      const answered = await saml.answer({ connectionId, samlResponse, relayState });
      if (!answered) return sendSsoLost(request, reply);
      const { requestId, browser } = answered;
      if (browser) cookie.set(reply, browser.value, browser.expiresAt, now());
      return redirect(request, reply, '/sso/complete', { request: requestId });
    });
  });

  app.get('/sso/saml/:connection_id/slo', async (request, reply) => {
    if (request.method === 'HEAD') return reply.send(); // who only looks, ends nothing
    const asked = field(request.query, 'SAMLRequest');
    const message = asked === null ? null : { query: request.url.slice(request.url.indexOf('?') + 1) };
    return logOut(request, reply, { message, relayState: field(request.query, 'RelayState') });
  });

  app.post('/sso/saml/:connection_id/slo', async (request, reply) => {
    const samlRequest = field(request.body, 'SAMLRequest');
    const message = samlRequest === null ? null : { samlRequest };
    return logOut(request, reply, { message, relayState: field(request.body, 'RelayState') });
  });

  async function logOut(
    request: FastifyRequest,
    reply: FastifyReply,
    sent: { message: { query: string } | { samlRequest: string } | null; relayState: string | null },
  ) {
    const { message, relayState } = sent;
    const id = connectionOf(request);
    if (id === null || message === null) return sendSsoLost(request, reply);
    return orRefused(request, reply, async () => {
      const answerUrl = await saml.logOut(id, { message, relayState });
      if (answerUrl === undefined) return sendSsoLost(request, reply);
      if (answerUrl === null) return sendPage(request, reply, 'signed-out', { clientUrl: null });
      return redirect(request, reply, answerUrl);
    });
  }
};

async function orRefused(request: FastifyRequest, reply: FastifyReply, work: () => Promise<FastifyReply>) {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof SsoRefused)) throw error;
    request.log.info({ refusal: error.code }, 'a message of an identity provider is refused');
    return sendSsoRefused(request, reply, error.code);
  }
}

function connectionOf({ params }: FastifyRequest): string | null {
  const { connection_id: id } = params as { connection_id: string };
  return uuid.test(id) ? id : null;
}

/** A field of a form or a query that is there once. */
function field(form: unknown, name: string): string | null {
  const value = (form as Record<string, unknown> | null | undefined)?.[name];
  return typeof value === 'string' && value !== '' ? value : null;
}
