import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { onlyOnce, readParameters } from '../../../domain/oidc/parameters.js';
import type { HostedOptions } from '../options.js';
import { pageOptions, sendPage, wantsJson } from '../pages.js';
import { createMfaSteps } from './steps.js';

const nothing = readParameters();

/** Shows new recovery codes, once, and goes on when the person has saved them. */
export const mfaEnrollCodes: FastifyPluginAsyncTypebox<HostedOptions> = async (app, options) => {
  const { logins, hosted } = options;
  const steps = createMfaSteps(options);

  app.get('/oauth/mfa-enroll-codes', async (request, reply) => {
    const read = readParameters(request.query);
    const token = onlyOnce(read, ['codes_token']).get('codes_token') ?? '';
    // A HEAD of a link checker must not use the one time up.
    const opened = request.method === 'HEAD' ? null : await logins.sealedCodes.open(token);
    if (opened === null || opened.outcome === 'expired') return steps.expired(request, reply, read);
    const codes = opened.outcome === 'opened' ? opened.codes : null;
    if (wantsJson(request)) {
      return reply
        .code(codes ? 200 : 400)
        .header('cache-control', 'no-store')
        .send({
          ...(!codes && { error: 'shown', error_description: 'the recovery codes were shown already' }),
          recovery_codes: codes,
          enrollment_token: opened.enrollmentToken,
        });
    }
    const pending = await logins.pendingSignIns.find(opened.enrollmentToken, 'hosted');
    const visit = pending && (await hosted.resume(request, reply, pending, nothing));
    const client = visit ? { name: visit.client.name, logoUrl: visit.client.logoUrl } : null;
    return sendPage(
      request,
      reply,
      'recovery-codes',
      {
        action: '/oauth/mfa-enroll-codes',
        params: visit?.asked.parameters ?? {},
        token: pending && opened.enrollmentToken,
        codes,
        client,
      },
      visit ? pageOptions(visit) : { uiLocales: read.values.get('ui_locales') },
    );
  });

  app.post('/oauth/mfa-enroll-codes', async (request, reply) => {
    const step = await steps.open(request, reply, 'enrollment');
    return step ? steps.finish(step) : reply;
  });
};
