import { accountUrl } from '../../domain/oidc/requests/account-request.js';
import { readParameters } from '../../domain/oidc/requests/parameters.js';
import { factorOfProvider } from '../../domain/sessions/first-factor.js';
import type { Arrival } from '../../domain/sso-sign-in/end-users.js';
import type { ProviderDemands } from '../../domain/sso-sign-in/recency.js';
import type { AnsweredSsoRequest } from '../../domain/sso-sign-in/requests.js';
import { type SomeoneElse, someoneElse } from '../../domain/sso-sign-in/someone-else.js';
import type { Sso } from '../../domain/sso-sign-in/sso.js';
import type { Clock } from '../../platform/clock.js';
import { type HostedLogin, unlessGone } from '../oauth/hosted-login.js';
import { pageOptions } from '../oauth/page-options.js';
import type { Visit } from '../oauth/visit.js';
import { shownClient } from '../pages/page-client.js';
import { redirect } from '../pages/redirect.js';
import { isBegunHere, withoutMark } from './begun-here.js';
import { sendSsoFailed, sendSsoLost } from './failed-page.js';
import { type Answer, type SsoFinisher, Unconfirmed } from './finishers.js';
import { askSomeoneElse } from './someone-else-page.js';

/** Finishes sign-ins of end users: through the gate of every first factor, and back to the client with a code. */
export function createIdentityFinisher(deps: { sso: Sso; hosted: HostedLogin; now: Clock }): SsoFinisher {
  const { sso, hosted, now } = deps;

  // A person with a session continues at once; everybody else is sent to the provider again, which mostly has a
  // session.
  const again: SsoFinisher['again'] = (parameters) => (request, reply) =>
    redirect(request, reply, '/oauth/authorize', withoutMark(parameters));

  const inVisit =
    ({ environmentId, parameters }: AnsweredSsoRequest, goOn: (visit: Visit) => ReturnType<Answer>): Answer =>
    async (request, reply) => {
      const visit = await hosted.enter(request, reply, readParameters(withoutMark(parameters)));
      if (!visit) return reply;
      // A client never changes its Environment; still, a provider's answer counts only in the one that asked.
      return visit.client.environmentId === environmentId ? goOn(visit) : sendSsoLost(request, reply);
    };

  const answer = (completed: AnsweredSsoRequest, arrival: Arrival): Answer =>
    inVisit(completed, (visit) => {
      if ('refusal' in arrival) return sendSsoFailed(visit, arrival.refusal, arrival.requestId);
      const { identityId, amr, connectionId, ssoSessionId, authTime } = arrival;
      const first = factorOfProvider(identityId, amr, { connectionId, ssoSessionId, authTime, now: now() });
      const { request, reply } = visit;
      // The person, the connection or the provider's session has ended since: beginning again shows which.
      return unlessGone(hosted.proved(visit, first), () => again(completed.parameters, 'over')(request, reply));
    });

  const asking =
    (completed: AnsweredSsoRequest, found: SomeoneElse) =>
    (fields: Record<string, string>): Answer =>
      inVisit(completed, (visit) => {
        const { request, reply, client } = visit;
        const stayUrl = accountUrl('', 'account', { client_id: client.clientId });
        const shown = shownClient(client);
        return askSomeoneElse(request, reply, { fields, ...found, stayUrl, client: shown }, pageOptions(visit));
      });

  return {
    async settle(tx, completed, { request, isConfirmed }) {
      const { parameters } = completed;
      const arrival = await sso.endUsers.arrive(tx, completed, askedIn(parameters));
      if ('identityId' in arrival && !isConfirmed && !isBegunHere(parameters)) {
        const { identityId } = arrival;
        const browser = hosted.cookies.browser.read(request);
        const found = await someoneElse(tx, completed, { browser, identityId, now: now() });
        if (found) throw new Unconfirmed(asking(completed, found));
      }
      return answer(completed, arrival);
    },

    again,
  };
}

/** The demands, as `parseAuthorizeRequest` read them when the person was sent away. */
function askedIn({ prompt = '', max_age: maxAge }: Record<string, string>): ProviderDemands {
  return { anew: prompt.split(' ').includes('login'), maxAge: maxAge === undefined ? null : Number(maxAge) };
}
