import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { DomainError } from '../../../domain/errors.js';
import { OAuthError } from '../../../domain/oidc/oauth-error.js';
import { isUuid } from '../../../platform/uuid.js';
import type { AccountOptions } from './options.js';

/** Revokes what an application was granted. */
export const applications: FastifyPluginAsyncTypebox<AccountOptions> = async (app, { logins, visits }) => {
  app.post('/oauth/account/applications', async (request, reply) => {
    const visit = await visits.act(request, reply, 'account');
    if (!visit || !(await visits.mayEnd(visit))) return reply;
    const id = visit.form.get('revoke');
    if (id === undefined) throw new OAuthError('invalid_request', 'revoke is missing');
    if (!isUuid(id)) throw new DomainError('application.not_found');
    try {
      await logins.ownApplications.revoke(visit.scope, visit.session.identityId, id);
    } catch (error) {
      return visits.gone(visit, error);
    }
    return visits.done(visit, 'access_ended');
  });
};
