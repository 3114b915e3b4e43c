import type { AdministratorSso } from '../../domain/sso-sign-in/administrators.js';
import type { AdminLanding } from '../admin-auth/sso-landing.js';
import { browserOf } from '../browser-of.js';
import { redirect } from '../oauth/pages.js';
import { sendSsoLost, sendSsoRefused } from '../oauth/sso-failed-page.js';
import type { SsoFinisher } from './finishers.js';

export interface AdminFinisherDeps {
  administrators: AdministratorSso;
  landing: AdminLanding;
}

/** Administrators: to a session of their own, with its cookies. */
export function createAdminFinisher({ administrators, landing }: AdminFinisherDeps): SsoFinisher {
  return {
    // Users belong to no Account, so what the answer changes takes a transaction of the system, after the request's own. A
    // process that ends between the two has completed the request without a session: the person signs in once more.
    async settle(tx, completed) {
      const provider = await administrators.providerOf(tx, completed);
      return async (request, reply) => {
        const arrival = await administrators.arrive(completed, provider, browserOf(request));
        if ('refusal' in arrival) return sendSsoRefused(request, reply, arrival.refusal);
        return landing.arrived(request, reply, arrival.signedIn);
      };
    },

    again: (parameters) => (request, reply) =>
      parameters.email ? redirect(request, reply, '/v1/auth/sso/start', parameters) : sendSsoLost(request, reply),
  };
}
