import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { DomainError } from '../../../../domain/errors.js';
import { wantsJson } from '../../../pages/wants-json.js';
import { shownFactor } from '../factor-name.js';
import type { AccountOptions } from '../options.js';
import { sendAccountPage } from '../page.js';
import { type AccountVisit, personOf } from '../visit.js';
import { addableBy } from './addable.js';
import { type ById, idIn } from './by-id.js';

/** Removes a second factor, after a page that says what that means. */
export const removeFactor: FastifyPluginAsyncTypebox<AccountOptions> = async (app, { logins, visits }) => {
  app.get<ById>('/oauth/account/factors/:id', async (request, reply) => {
    const id = idIn(request.params);
    const visit = await visits.open(request, reply, `account/factors/${id}`);
    if (!visit) return reply;
    const found = await find(visit, id);
    if (!found) return visits.gone(visit, new DomainError('mfa.factor_not_found'));
    const isRequired = await logins.factors.isLastRequired(visit.scope, visit.session.identityId, id);
    // Nobody should have to sign in again only to be refused.
    if (!isRequired && !(await visits.isProven(visit, `account/factors/${id}`))) return reply;
    return show(visit, found, { isRequired });
  });

  app.post<ById>('/oauth/account/factors/:id', async (request, reply) => {
    const id = idIn(request.params);
    const visit = await visits.act(request, reply, `account/factors/${id}`);
    if (!visit) return reply;
    const found = await find(visit, id);
    if (!found) return visits.gone(visit, new DomainError('mfa.factor_not_found'));
    if (!(await visits.isProven(visit, `account/factors/${id}`))) return reply;
    try {
      await logins.factors.remove(personOf(visit), id);
    } catch (error) {
      const code = error instanceof DomainError ? error.code : null;
      if (code === 'mfa.last_factor' && !wantsJson(request)) return show(visit, found, { isRequired: true });
      if (code === 'mfa.factor_not_found') return visits.gone(visit, error);
      return visits.anew(visit, `account/factors/${id}`, error);
    }
    return visits.done(visit, 'factor_removed');
  });

  async function find({ scope, session }: AccountVisit, id: string) {
    const factors = await logins.factors.list(scope, session.identityId);
    const factor = factors.find((one) => one.id === id);
    return factor ? { factor, factors } : null;
  }

  async function show(
    visit: AccountVisit,
    { factor, factors }: NonNullable<Awaited<ReturnType<typeof find>>>,
    { isRequired }: { isRequired: boolean },
  ) {
    const { addable } = addableBy(visit, factors, await logins.ownProfile(visit.scope, visit.session.identityId));
    const values = { factor: shownFactor(factor), isOnlyOne: factors.length === 1, isRequired, addable };
    return sendAccountPage(visit, 'account-remove', values, { status: isRequired ? 409 : 200 });
  }
};
