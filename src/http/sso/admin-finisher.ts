import type { AdministratorSso } from '../../domain/sso-sign-in/administrators.js';
import type { AdminLanding } from '../admin-auth/sso-landing.js';
import { browserOf } from '../browser-of.js';
import { redirect } from '../pages/redirect.js';
import { sendSsoLost, sendSsoRefused } from './failed-page.js';
import type { SsoFinisher } from './finishers.js';

export interface AdminFinisherDeps {
  administrators: AdministratorSso;
  landing: AdminLanding;
  /** Of the administrators' application, where there is one. */
  appUrl: string | null;
}

/** Administrators: to a session of their own, with its cookies. */
export function createAdminFinisher({ administrators, landing, appUrl }: AdminFinisherDeps): SsoFinisher {
  return {
    // Users belong to no Account, so what the answer changes takes a transaction of the system, after the request's own. A
    // process that ends between the two has completed the request without a session: the person signs in once more.
    async settle(tx, completed) {
      const { parameters } = completed;
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
      parameters.email ? redirect(request, reply, '/v1/auth/sso/start', parameters) : sendSsoLost(request, reply),
  };
}
