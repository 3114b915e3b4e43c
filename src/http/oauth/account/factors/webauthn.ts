import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { fullNameOf } from '../../../../domain/full-name.js';
import { givingBack } from '../../../../domain/limits/rate-limits.js';
import { relyingPartyOf } from '../../relying-party.js';
import { answerWebauthnInJson, credentialIn } from '../../webauthn-json.js';
import type { AccountOptions } from '../options.js';
import { sendAccountPage } from '../page.js';
import { createAdding, labelIn } from './add.js';

const page = 'account/factors/webauthn';

/** Adds a passkey or security key. Its page needs our script: only a script can ask the authenticator. */
export const webauthn: FastifyPluginAsyncTypebox<AccountOptions> = async (app, options) => {
  const { logins, visits } = options;
  const adding = createAdding(options);

  app.get('/oauth/account/factors/webauthn', async (request, reply) => {
    const visit = await visits.open(request, reply, page);
    if (!visit || !(await adding.mayAdd(visit, 'webauthn', page))) return reply;
    return sendAccountPage(visit, 'account-webauthn', {}, { scripts: ['webauthn'] });
  });

  await app.register(async (script) => {
    answerWebauthnInJson(script);

    script.post('/oauth/account/factors/webauthn/options', async (request, reply) => {
      const visit = await visits.act(request, reply, page);
      if (!visit || !(await adding.mayAdd(visit, 'webauthn', page))) return reply;
      const { scope, session, client } = visit;
      const person = await logins.ownProfile(scope, session.identityId);
      const { options, token } = await logins.ownWebauthn.begin(session.id, {
        accountId: scope.accountId,
        identityId: session.identityId,
        email: person.email,
        name: fullNameOf(person) ?? person.email,
        relyingParty: relyingPartyOf(client),
      });
      return reply.send({ options, enrollment: token });
    });

    script.post('/oauth/account/factors/webauthn', async (request, reply) => {
      const visit = await visits.act(request, reply, page);
      if (!visit || !(await adding.mayAdd(visit, 'webauthn', page))) return reply;
      const begun = { sessionId: visit.session.id, token: visit.form.get('enrollment') ?? '' };
      const answer = { sent: credentialIn(request.body), label: labelIn(visit) ?? null };
      const proved = await logins.ownWebauthn.verify({ ...begun, ...answer });
      return givingBack(
        () => adding.add(visit, page, proved),
        () => logins.ownWebauthn.giveBack(begun),
      );
    });
  });
};
