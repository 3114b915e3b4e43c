import { readParameters } from '../../domain/oidc/parameters.js';
import { factorOfProvider } from '../../domain/sessions/first-factor.js';
import type { Arrival } from '../../domain/sso-sign-in/end-users.js';
import type { ProviderDemands } from '../../domain/sso-sign-in/recency.js';
import type { AnsweredSsoRequest } from '../../domain/sso-sign-in/requests.js';
import type { Sso } from '../../domain/sso-sign-in/sso.js';
import type { Clock } from '../../platform/clock.js';
import { type HostedLogin, unlessGone } from '../oauth/hosted-login.js';
import { redirect } from '../pages/redirect.js';
import { sendSsoFailed, sendSsoLost } from './failed-page.js';
import type { Answer, SsoFinisher } from './finishers.js';

/** End users: through the same gate as whoever has proved another first factor, and back to the client with a code. */
export function createIdentityFinisher(deps: { sso: Sso; hosted: HostedLogin; now: Clock }): SsoFinisher {
  const { sso, hosted, now } = deps;

  // Whoever has a session by now goes on at once; everybody else is sent to the provider anew, which mostly has one.
  const again: SsoFinisher['again'] = (parameters) => (request, reply) =>
    redirect(request, reply, '/oauth/authorize', parameters);

  const tell =
    ({ environmentId, parameters }: AnsweredSsoRequest, arrival: Arrival): Answer =>
    async (request, reply) => {
      const visit = await hosted.enter(request, reply, readParameters(parameters));
      if (!visit) return reply;
      // A client does not move; but what was said to one Environment is worth nothing in another.
      if (visit.client.environmentId !== environmentId) return sendSsoLost(request, reply);
      if ('refusal' in arrival) return sendSsoFailed(visit, arrival.refusal);
      const { identityId, amr, connectionId, ssoSessionId, authTime } = arrival;
      const first = factorOfProvider(identityId, amr, { connectionId, ssoSessionId, authTime, now: now() });
      // Gone since, the person, the connection or the session at the provider: the same from its beginning tells which.
      return unlessGone(hosted.proved(visit, first), () => again(parameters, 'over')(request, reply));
    };

  return {
    async settle(tx, completed) {
      return tell(completed, await sso.endUsers.arrive(tx, completed, askedIn(completed.parameters)));
    },

    again,
  };
}

/** As `parseAuthorizeRequest` has read it, when the person was sent away. */
function askedIn({ prompt = '', max_age: maxAge }: Record<string, string>): ProviderDemands {
  return { anew: prompt.split(' ').includes('login'), maxAge: maxAge === undefined ? null : Number(maxAge) };
}
