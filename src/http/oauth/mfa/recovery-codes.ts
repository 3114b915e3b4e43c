import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { OAuthError } from '../../../domain/oidc/oauth-error.js';
import { accountUrl } from '../../../domain/oidc/requests/account-request.js';
import { onlyOnce, type ReadParameters, readParameters } from '../../../domain/oidc/requests/parameters.js';
import { shownClient } from '../../pages/page-client.js';
import { sendPage } from '../../pages/send-page.js';
import { wantsJson } from '../../pages/wants-json.js';
import type { HostedOptions } from '../options.js';
import { pageOptions } from '../page-options.js';
import type { Visit } from '../visit.js';
import { createCodesBrowser } from './codes-browser.js';
import { createMfaSteps } from './steps.js';

const nothing = readParameters();

/** Null if the client no longer accepts the request: the sign-in leads nowhere, but the codes are still shown. */
const orNowhere = (resuming: Promise<Visit>): Promise<Visit | null> =>
  resuming.catch((error: unknown) => {
    if (error instanceof OAuthError) return null;
    throw error;
  });

/**
 * Refuses a request that has nothing but the link: it comes from the owner in another browser, or from somebody who
 * would be signed in as the owner.
 */
const refusesOthers =
  ({ expired }: Pick<ReturnType<typeof createMfaSteps>, 'expired'>) =>
  (request: FastifyRequest, reply: FastifyReply, read: ReadParameters) => {
    if (!wantsJson(request)) return expired(request, reply, read, 'codes_elsewhere');
    const error_description = 'the recovery codes are for the browser that enrolled the factor, by its cookie';
    return reply.code(400).send({ error: 'other_browser', error_description });
  };

/**
 * Where the page leads after the sign-in is over: onward as the browser would continue then, or to the account, where
 * new codes can be made.
 */
const afterSignIn =
  (
    { baseUrl, clients }: HostedOptions['provider'],
    { completed }: Pick<ReturnType<typeof createMfaSteps>, 'completed'>,
  ) =>
  async (request: FastifyRequest, read: ReadParameters, enrollmentToken: string) => {
    const client = await clients.find(read.values.get('client_id') ?? '');
    const done = client && (await completed(request, enrollmentToken));
    if (!done) return { client, nextUrl: null, accountUrl: null };
    const { client_id = null, ui_locales = null } = done.parameters;
    return {
      client,
      nextUrl: `/oauth/authorize?${new URLSearchParams(done.continued ?? done.parameters)}`,
      accountUrl: accountUrl(baseUrl, 'account', { client_id, ui_locales }),
    };
  };

/** Shows new recovery codes once, in the browser that enrolled, and continues there when the person has saved them. */
export const mfaEnrollCodes: FastifyPluginAsyncTypebox<HostedOptions> = async (app, options) => {
  const { logins, hosted, provider } = options;
  const { sealedCodes, pendingSignIns } = logins;
  const steps = createMfaSteps(options);
  const elsewhere = refusesOthers(steps);
  const afterwards = afterSignIn(provider, steps);
  const { presentedBy } = createCodesBrowser(provider);

  app.get('/oauth/mfa-enroll-codes', async (request, reply) => {
    const read = readParameters(request.query);
    const codesToken = onlyOnce(read, ['codes_token']).get('codes_token') ?? '';
    const opened = sealedCodes.open(codesToken, presentedBy(request));
    // A HEAD request of a link checker must not use up the only view.
    if (request.method === 'HEAD' || opened.outcome === 'expired') return steps.expired(request, reply, read);
    if (opened.outcome === 'foreign') return elsewhere(request, reply, read);
    const { enrollmentToken } = opened;
    if (wantsJson(request)) {
      const codes = await opened.take();
      return reply.code(codes ? 200 : 400).send({
        ...(!codes && { error: 'shown', error_description: 'the recovery codes were shown already' }),
        recovery_codes: codes,
        enrollment_token: enrollmentToken,
      });
    }
    const pending = await pendingSignIns.find(enrollmentToken, 'hosted');
    const visit = pending && (await orNowhere(hosted.resume(request, reply, pending, nothing)));
    if (reply.sent) return reply; // with an error for the client, which no longer accepts the request
    const { client, ...on } = visit
      ? { client: visit.client, nextUrl: null, accountUrl: null }
      : await afterwards(request, read, enrollmentToken);
    const codes = await opened.take();
    return sendPage(
      request,
      reply,
      'recovery-codes',
      {
        action: '/oauth/mfa-enroll-codes',
        params: visit?.authorizeRequest.parameters ?? {},
        token: visit && enrollmentToken,
        codesToken,
        codes,
        ...on,
        client: client && shownClient(client),
      },
      visit ? pageOptions(visit) : { client, uiLocales: read.values.get('ui_locales') },
    );
  });

  app.post('/oauth/mfa-enroll-codes', async (request, reply) => {
    const step = await steps.open(request, reply, 'enrollment', ['codes_token']);
    if (!step) return reply;
    // A script holds the sign-in's own token, which is in no address; scripts of other sites get no answer.
    const isTheirs = wantsJson(request) || sealedCodes.isHeld(step.form.get('codes_token') ?? '', presentedBy(request));
    return isTheirs ? steps.finish(step) : elsewhere(request, reply, step.read);
  });
};
