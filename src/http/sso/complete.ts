import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ComingBrowser, Completion, SsoPurpose } from '../../domain/sso-sign-in/requests.js';
import type { Sso } from '../../domain/sso-sign-in/sso.js';
import { isUuid } from '../../platform/uuid.js';
import { readForms } from '../browsers/form-bodies.js';
import { assertOwnOrigin } from '../browsers/origin.js';
import { secretCookie } from '../browsers/secret-cookie.js';
import { sendSsoLost } from './failed-page.js';
import { type Answer, type Arriving, type SsoFinisher, type SsoFinishers, Unconfirmed } from './finishers.js';
import { textOf } from './parameters.js';

/** More tries than races for one address that a sign-in can lose. */
const maxTries = 4;

/**
 * Where a browser continues that was sent to an identity provider. The answer has been received already. The cookie
 * shows that it is the browser that was sent, which a form of the provider's site cannot (SameSite=Lax). `answer` shows
 * that it is the browser that brought the answer, since whoever was sent could have somebody else bring it.
 */
export const complete: FastifyPluginAsyncTypebox<{ sso: Sso; baseUrl: string; finishers: SsoFinishers }> = async (
  app,
  { sso, baseUrl, finishers },
) => {
  const cookie = secretCookie(baseUrl, 'sso');
  readForms(app);
  const finisherOf = (purpose: SsoPurpose): SsoFinisher => {
    const finisher = finishers[purpose];
    if (!finisher) throw new Error(`nobody finishes sign-ins for ${purpose}`);
    return finisher;
  };

  app.get('/sso/complete', async (request, reply) => {
    if (request.method === 'HEAD') return reply.send(); // a HEAD must not use up anything
    return come(reply, request.query, { request, isConfirmed: false });
  });

  /** The form of the page that asks whether to continue, although somebody else is signed in. */
  app.post('/sso/complete', async (request, reply) => {
    assertOwnOrigin(request, baseUrl);
    return come(reply, request.body, { request, isConfirmed: true });
  });

  async function come(reply: FastifyReply, fields: unknown, arriving: Arriving): Promise<FastifyReply> {
    const { request } = arriving;
    const [id, deliverer] = [textOf(fields, 'request'), textOf(fields, 'answer')];
    if (!isUuid(id)) return sendSsoLost(request, reply);
    try {
      return await answer(request, reply, await completed(id, { cookie: cookie.read(request), deliverer }, arriving));
    } catch (error) {
      if (!(error instanceof Unconfirmed)) throw error;
      return error.ask({ request: id, ...(deliverer !== null && { answer: deliverer }) })(request, reply);
    }
  }

  async function completed(
    id: string,
    browser: ComingBrowser,
    arriving: Arriving,
    triesLeft = maxTries,
  ): Promise<Completion<Answer>> {
    try {
      return await sso.signIn.complete(id, browser, (tx, answered) =>
        finisherOf(answered.purpose).settle(tx, answered, arriving),
      );
    } catch (error) {
      if (triesLeft > 1 && sso.endUsers.losesARace(error)) return completed(id, browser, arriving, triesLeft - 1);
      throw error;
    }
  }

  function answer(request: FastifyRequest, reply: FastifyReply, done: Completion<Answer>) {
    if (done.state === 'unknown') return sendSsoLost(request, reply);
    if (done.state === 'completed') return done.result(request, reply);
    return finisherOf(done.purpose).again(done.parameters, done.state)(request, reply);
  }
};
