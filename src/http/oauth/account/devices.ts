import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { DomainError } from '../../../domain/errors.js';
import { OAuthError } from '../../../domain/oidc/oauth-error.js';
import { isUuid } from '../../../platform/uuid.js';
import type { AccountOptions } from './options.js';

/** Stops trusting one browser, or all: they are asked for the second factor again. */
export const devices: FastifyPluginAsyncTypebox<AccountOptions> = async (app, { logins, visits }) => {
  app.post('/oauth/account/devices', async (request, reply) => {
    const visit = await visits.act(request, reply, 'account');
    if (!visit) return reply;
    const { scope, session, form } = visit;
    const forget = form.get('forget');
    if (forget === undefined) throw new OAuthError('invalid_request', 'forget is missing');
    if (forget === 'all') {
      await logins.trustedDevices.revokeAll(scope, session.identityId);
      return visits.done(visit, 'devices_forgotten');
    }
    if (!isUuid(forget)) throw new DomainError('mfa.trusted_device_not_found');
    try {
      await logins.trustedDevices.revoke(scope, session.identityId, forget);
    } catch (error) {
      return visits.gone(visit, error);
    }
    return visits.done(visit, 'device_forgotten');
  });
};
