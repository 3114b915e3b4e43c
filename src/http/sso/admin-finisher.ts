import type { AdministratorSso } from '../../domain/sso-sign-in/administrators.js';
import type { AnsweredSsoRequest } from '../../domain/sso-sign-in/requests.js';
import type { AdminCookies } from '../admin-auth/cookies.js';
import type { AdminLanding } from '../admin-auth/sso-landing.js';
import { browserOf } from '../browsers/browser-of.js';
import { redirect } from '../pages/redirect.js';
import { isBegunHere, withoutMark } from './begun-here.js';
import { sendSsoLost, sendSsoRefused } from './failed-page.js';
import { type Arriving, type SsoFinisher, Unconfirmed } from './finishers.js';
import { askSomeoneElse } from './someone-else-page.js';

export interface AdminFinisherDeps {
  administrators: AdministratorSso;
  cookies: Pick<AdminCookies, 'isMarked'>;
  landing: AdminLanding;
  /** The address of the administrators' application, if there is one. */
  appUrl: string | null;
}

/** Finishes sign-ins of administrators: they get a session of their own, with its cookies. */
export function createAdminFinisher({ administrators, cookies, landing, appUrl }: AdminFinisherDeps): SsoFinisher {
  /**
   * The request that comes from the provider does not show whose session the browser has; so everybody with a session
   * is asked, unless they began the sign-in here.
   */
  function assertAskedFor({ outcome, parameters }: AnsweredSsoRequest, { request, isConfirmed }: Arriving) {
    if ('refusal' in outcome || isConfirmed || isBegunHere(parameters) || !cookies.isMarked(request)) return;
    const email = outcome.assertion.email ?? outcome.assertion.subject;
    throw new Unconfirmed(
      (fields) => (request, reply) =>
        askSomeoneElse(request, reply, { fields, other: null, email, stayUrl: appUrl, client: null }),
    );
  }

  return {
    // Users belong to no Account, so the changes run in a transaction of the system, after the request's own. If the
    // process ends in between, the request is complete without a session, and the person signs in again.
    async settle(tx, completed, arriving) {
      assertAskedFor(completed, arriving);
      const parameters = withoutMark(completed.parameters);
      const provider = await administrators.providerOf(tx, completed);
      return async (request, reply) => {
        const arrival = await administrators.arrive(completed, provider, browserOf(request));
        if ('refusal' in arrival) {
          // Again, with a new authentication: otherwise the provider would answer the same while its session lasts.
          const again = new URLSearchParams({ ...parameters, prompt: 'login' });
          const againUrl = parameters.email ? `/v1/auth/sso/start?${again}` : null;
          return sendSsoRefused(request, reply, arrival.refusal, { againUrl, otherUrl: appUrl });
        }
        return landing.arrived(request, reply, arrival.signedIn);
      };
    },

    again: (parameters) => (request, reply) =>
      parameters.email
        ? redirect(request, reply, '/v1/auth/sso/start', withoutMark(parameters))
        : sendSsoLost(request, reply),
  };
}
