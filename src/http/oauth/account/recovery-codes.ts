import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { DomainError } from '../../../domain/errors.js';
import { wantsJson } from '../../pages/wants-json.js';
import type { AccountOptions } from './options.js';
import { sendAccountPage } from './page.js';
import { type AccountVisit, personOf } from './visit.js';

const page = 'account/recovery-codes';

/** Replaces the recovery codes, and shows the new ones once. */
export const recoveryCodes: FastifyPluginAsyncTypebox<AccountOptions> = async (app, { logins, visits }) => {
  app.get('/oauth/account/recovery-codes', async (request, reply) => {
    const visit = await visits.open(request, reply, page);
    if (!visit) return reply;
    const token = visit.form.get('codes_token');
    // A HEAD must not use up the only view.
    if (token !== undefined) return request.method === 'HEAD' ? reply.send() : showOnce(visit, token);
    if (!(await mayRenew(visit))) return reply;
    const { remaining } = await logins.recoveryCodes.remaining(visit.scope, visit.session.identityId);
    return sendAccountPage(visit, 'account-recovery', { left: remaining });
  });

  app.post('/oauth/account/recovery-codes', async (request, reply) => {
    const visit = await visits.act(request, reply, page);
    if (!visit || !(await mayRenew(visit))) return reply;
    let codes: string[];
    try {
      codes = await logins.recoveryCodes.replace(personOf(visit));
    } catch (error) {
      return visits.anew(visit, page, error);
    }
    return visits.toCodes(visit, codes);
  });

  /** Codes replace a factor, so they are of no use without one. */
  async function mayRenew(visit: AccountVisit): Promise<boolean> {
    const { scope, session, client } = visit;
    const factors = await logins.factors.list(scope, session.identityId);
    const isTaken = client.settings.mfaAllowedFactors.includes('recovery_code');
    if (!isTaken) throw new DomainError('mfa.factor_not_allowed');
    if (factors.length === 0) throw new DomainError('mfa.not_enrolled');
    return visits.isProven(visit, page);
  }

  async function showOnce(visit: AccountVisit, token: string) {
    // Sealed for this very session; the page shows the codes only the first time.
    const opened = logins.sealedCodes.open(token, [visit.session.id]);
    const codes = opened.outcome === 'opened' ? await opened.take() : null;
    if (!codes) return visits.done(visit, 'codes_shown');
    if (wantsJson(visit.request)) {
      return visit.reply.send({ recovery_codes: codes });
    }
    return sendAccountPage(visit, 'account-codes', { codes });
  }
};
