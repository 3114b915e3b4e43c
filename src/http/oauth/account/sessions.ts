import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { DomainError } from '../../../domain/errors.js';
import { OAuthError } from '../../../domain/oidc/oauth-error.js';
import { isUuid } from '../../../platform/uuid.js';
import type { AccountOptions } from './options.js';

/** Signs out of another browser, or of all others. */
export const sessions: FastifyPluginAsyncTypebox<AccountOptions> = async (app, { logins, visits }) => {
  app.post('/oauth/account/sessions', async (request, reply) => {
    const visit = await visits.act(request, reply, 'account');
    if (!visit || !(await visits.mayEnd(visit))) return reply;
    const { scope, session, form } = visit;
    const end = form.get('end');
    if (end === undefined) throw new OAuthError('invalid_request', 'end is missing');
    if (end === 'others') {
      await logins.ownSessions.endOthers(scope, session.identityId, session.id);
      return visits.done(visit, 'sessions_ended');
    }
    if (!isUuid(end)) throw new DomainError('session.not_found');
    try {
      await logins.ownSessions.end(scope, session.identityId, end);
    } catch (error) {
      return visits.gone(visit, error);
    }
    return visits.done(visit, 'session_ended');
  });
};
