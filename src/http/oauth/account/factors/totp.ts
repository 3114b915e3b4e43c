import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { DomainError } from '../../../../domain/errors.js';
import type { TotpEnrollment } from '../../../../domain/mfa/codes/totp.js';
import type { TextKey } from '../../../../platform/mail/texts.js';
import { wantsJson } from '../../../pages/wants-json.js';
import type { AccountOptions } from '../options.js';
import { sendAccountPage } from '../page.js';
import type { AccountVisit } from '../visit.js';
import { createAdding, labelIn } from './add.js';

const page = 'account/factors/totp';

/** Adds an authenticator app: the page holds its secret, sealed, until a first code proves that the app has it. */
export const totp: FastifyPluginAsyncTypebox<AccountOptions> = async (app, options) => {
  const { logins, visits } = options;
  const adding = createAdding(options);

  app.get('/oauth/account/factors/totp', async (request, reply) => {
    const visit = await visits.open(request, reply, page);
    if (!visit || !(await adding.mayAdd(visit, 'totp', page))) return reply;
    return show(visit, await begin(visit));
  });

  app.post('/oauth/account/factors/totp', async (request, reply) => {
    const visit = await visits.act(request, reply, page);
    if (!visit || !(await adding.mayAdd(visit, 'totp', page))) return reply;
    const { scope, session, form, client } = visit;
    const sealed = form.get('enrollment') ?? '';
    try {
      const { totpDriftSteps: drift } = client.settings;
      const first = { sealed, code: form.get('code') ?? '', drift };
      const factor = logins.totp.confirmEnrollment(session.identityId, first);
      const labelled = { ...factor, label: labelIn(visit) ?? factor.label };
      return await adding.add(visit, page, { factor: labelled, amr: ['otp'] });
    } catch (error) {
      if (!(error instanceof DomainError) || wantsJson(request)) throw error;
      if (error.code === 'mfa.enrollment_expired')
        return show(visit, await begin(visit), 'account.factor.error.expired');
      if (error.code !== 'mfa.code_invalid') throw error;
      const again = await logins.totp.resumeEnrollment(scope, session, sealed);
      return show(visit, again, 'account.factor.error.code');
    }
  });

  const begin = ({ scope, session }: AccountVisit) => logins.totp.beginEnrollment(scope, session);

  function show(visit: AccountVisit, { secret, uri, qrSvg, sealed }: TotpEnrollment, error: TextKey | null = null) {
    if (wantsJson(visit.request)) {
      return visit.reply.send({ secret, uri, enrollment: sealed });
    }
    const values = { secret, uri, qrSvg, sealed, label: labelIn(visit) ?? '', error };
    return sendAccountPage(visit, 'account-totp', values, { status: error === null ? 200 : 400 });
  }
};
