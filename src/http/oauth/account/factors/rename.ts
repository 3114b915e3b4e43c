import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { DomainError } from '../../../../domain/errors.js';
import { wantsJson } from '../../../pages/wants-json.js';
import { shownFactor } from '../factor-name.js';
import type { AccountOptions } from '../options.js';
import { sendAccountPage } from '../page.js';
import { personOf } from '../visit.js';
import { labelIn } from './add.js';
import { type ById, idIn } from './by-id.js';

/** Renames a second factor: people with several passkeys must be able to tell them apart before they remove one. */
export const renameFactor: FastifyPluginAsyncTypebox<AccountOptions> = async (app, { logins, visits }) => {
  app.get<ById>('/oauth/account/factors/:id/name', async (request, reply) => {
    const id = idIn(request.params);
    const visit = await visits.open(request, reply, `account/factors/${id}/name`);
    if (!visit) return reply;
    const factors = await logins.factors.list(visit.scope, visit.session.identityId);
    const factor = factors.find((one) => one.id === id);
    if (!factor) return visits.gone(visit, new DomainError('mfa.factor_not_found'));
    return sendAccountPage(visit, 'account-name', { factor: shownFactor(factor) });
  });

  app.post<ById>('/oauth/account/factors/:id/name', async (request, reply) => {
    const id = idIn(request.params);
    const visit = await visits.act(request, reply, `account/factors/${id}/name`);
    if (!visit) return reply;
    const label = labelIn(visit);
    if (label === undefined) return visits.done(visit, 'factor_unnamed');
    try {
      await logins.factors.rename(personOf(visit), id, label);
    } catch (error) {
      const isBound = error instanceof DomainError && error.code === 'identity.in_production';
      if (isBound && !wantsJson(request)) return visits.done(visit, 'in_production');
      if (error instanceof DomainError && error.code === 'mfa.factor_not_found') return visits.gone(visit, error);
      return visits.anew(visit, `account/factors/${id}/name`, error);
    }
    return visits.done(visit, 'factor_renamed');
  });
};
