import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { destinationOf } from '../../domain/oidc/clients/redirect-uris.js';
import { OAuthError } from '../../domain/oidc/oauth-error.js';
import { accountUrl } from '../../domain/oidc/requests/account-request.js';
import { couldBeAnyProgram, suitsConsent } from '../../domain/oidc/requests/interaction.js';
import { onlyOnce, type ReadParameters, readParameters } from '../../domain/oidc/requests/parameters.js';
import { learntBy } from '../../domain/oidc/scopes.js';
import type { HostedSession } from '../../domain/sessions/sessions.js';
import { days, seconds } from '../../platform/clock.js';
import { assertOwnOrigin } from '../browsers/origin.js';
import { shownClient } from '../pages/page-client.js';
import { sendPage } from '../pages/send-page.js';
import { wantsJson } from '../pages/wants-json.js';
import { sendCookieRefused, withoutMark } from './after-sign-in.js';
import { onToSignIn } from './on-to-sign-in.js';
import type { HostedOptions } from './options.js';
import { pageOptions } from './page-options.js';
import { anotherPersonUrl, type Visit } from './visit.js';

/** Fields that only our own form sends. */
const formFields = ['choice', 'session'] as const;

/**
 * Asks the signed-in person what they allow an application of others (OpenID Connect Core 3.1.2.4). Nothing is stored
 * meanwhile: the session identifies the person, the parameters the request, and without an answer no code is issued.
 */
export const consent: FastifyPluginAsyncTypebox<HostedOptions> = async (app, { provider, hosted }) => {
  const { baseUrl, sessions, now } = provider;

  app.get('/oauth/consent', async (request, reply) => {
    const question = await enter(request, reply, readParameters(request.query));
    return question ? ask(question) : reply;
  });

  app.post('/oauth/consent', async (request, reply) => {
    assertOwnOrigin(request, baseUrl);
    const read = readParameters(request.query, request.body);
    const form = onlyOnce(read, formFields);
    const question = await enter(request, reply, read);
    if (!question) return reply;
    const { visit, session } = question;
    // Two people who share a browser do not answer for each other.
    if (form.get('session') !== session.id) return ask(question);
    switch (form.get('choice')) {
      case 'allow':
        return hosted.consented(visit, session, () => fromBeginning(visit));
      case 'deny':
        return hosted.deny(visit);
      default:
        throw new OAuthError('invalid_request', 'choice must be allow or deny');
    }
  });

  /** Null if the request was answered: there is nothing to ask, or nobody is signed in as the request requires. */
  async function enter(request: FastifyRequest, reply: FastifyReply, read: ReadParameters) {
    const visit = await hosted.enter(request, reply, read);
    if (!visit) return null;
    const { client, authorizeRequest, hintedSubject, toAccount } = visit;
    const { environmentId, settings } = client;
    const browser = hosted.cookies.browser.read(request);
    const session = await sessions.find(browser, environmentId, settings.sessionIdleTtlSeconds);
    const mayAsk = client.consentRequired && !toAccount && !authorizeRequest.prompt.none;
    if (mayAsk && session && suitsConsent(authorizeRequest, { session, hintedSubject, now: now() }))
      return withoutMark({ request, reply, read }) ? null : { visit, session };
    if (!sendCookieRefused(hosted.cookies.browser, { request, reply, read, client })) fromBeginning(visit);
    return null;
  }

  function fromBeginning({ request, reply, client, authorizeRequest: { parameters, redirectUri } }: Visit) {
    const going = { request, reply, client, uiLocales: parameters.ui_locales, redirectUri };
    return onToSignIn(going, '/oauth/authorize', parameters);
  }

  function ask({ visit, session }: { visit: Visit; session: HostedSession }) {
    const { request, reply, client, authorizeRequest } = visit;
    if (wantsJson(request)) return answerInJson(visit, session);
    return sendPage(
      request,
      reply,
      'consent',
      {
        action: '/oauth/consent',
        // The person allows what they were shown, whatever the client may be granted a moment later.
        params: { ...authorizeRequest.parameters, scope: authorizeRequest.scope.join(' '), session: session.id },
        email: session.email,
        scopes: learntBy(authorizeRequest.scope),
        destination: destinationOf(authorizeRequest.redirectUri),
        isAskedAlways: couldBeAnyProgram(client, authorizeRequest),
        days: Math.ceil(seconds(client.settings.refreshTokenMaxTtlSeconds) / days(1)),
        accountUrl: accountUrl('', 'account', {
          client_id: client.clientId,
          ui_locales: authorizeRequest.parameters.ui_locales ?? null,
        }),
        otherUrl: anotherPersonUrl(visit),
        client: shownClient(client),
      },
      pageOptions(visit),
    );
  }
};

/** Asks a script the same in JSON. */
const answerInJson = ({ reply, authorizeRequest }: Visit, session: HostedSession) =>
  reply.code(409).send({
    error: 'consent_required',
    error_description: 'post the same parameters with session, and choice=allow or choice=deny',
    session: session.id,
    scope: authorizeRequest.scope.join(' '),
  });
