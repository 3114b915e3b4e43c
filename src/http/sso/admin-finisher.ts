import type { AdministratorSso } from '../../domain/sso-sign-in/administrators.js';
import type { AnsweredSsoRequest } from '../../domain/sso-sign-in/requests.js';
import type { AdminCookies } from '../admin-auth/cookies.js';
import type { AdminLanding } from '../admin-auth/sso-landing.js';
import { browserOf } from '../browser-of.js';
import { redirect } from '../pages/redirect.js';
import { isBegunHere, withoutMark } from './begun-here.js';
import { sendSsoLost, sendSsoRefused } from './failed-page.js';
import { type Arriving, type SsoFinisher, Unconfirmed } from './finishers.js';
import { askSomeoneElse } from './someone-else-page.js';

export interface AdminFinisherDeps {
  administrators: AdministratorSso;
  cookies: Pick<AdminCookies, 'isMarked'>;
  landing: AdminLanding;
  /** Of the administrators' application, where there is one. */
  appUrl: string | null;
}

/** Administrators: to a session of their own, with its cookies. */
export function createAdminFinisher({ administrators, cookies, landing, appUrl }: AdminFinisherDeps): SsoFinisher {
  /** Whose session there is is not seen on the way from the provider; so whoever has one is asked, unless they began it here. */
  function assertAskedFor({ outcome, parameters }: AnsweredSsoRequest, { request, isConfirmed }: Arriving) {
    if ('refusal' in outcome || isConfirmed || isBegunHere(parameters) || !cookies.isMarked(request)) return;
    const email = outcome.assertion.email ?? outcome.assertion.subject;
    throw new Unconfirmed(
      (fields) => (request, reply) =>
        askSomeoneElse(request, reply, { fields, other: null, email, stayUrl: appUrl, client: null }),
    );
  }

  return {
    // Users belong to no Account, so what the answer changes takes a transaction of the system, after the request's own. A
    // process that ends between the two has completed the request without a session: the person signs in once more.
    async settle(tx, completed, arriving) {
      assertAskedFor(completed, arriving);
      const parameters = withoutMark(completed.parameters);
      const provider = await administrators.providerOf(tx, completed);
      return async (request, reply) => {
        const arrival = await administrators.arrive(completed, provider, browserOf(request));
        if ('refusal' in arrival) {
          // Once more, and asked anew: for as long as the provider has a session it would answer the same.
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
