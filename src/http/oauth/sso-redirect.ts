import type { FastifyReply } from 'fastify';
import type { SsoConnection } from '../../../entities/sso-connection.js';
import { wantsSso } from '../../domain/organizations/barred.js';
import { SsoRefused } from '../../domain/sso-protocols/assertion.js';
import type { Sso } from '../../domain/sso-sign-in/sso.js';
import type { Clock } from '../../platform/clock.js';
import { secretCookie } from '../browsers/secret-cookie.js';
import { shownClient } from '../pages/page-client.js';
import { redirect } from '../pages/redirect.js';
import { sendPage } from '../pages/send-page.js';
import { wantsJson } from '../pages/wants-json.js';
import { begunHere } from '../sso/begun-here.js';
import { sendSsoFailed } from '../sso/failed-page.js';
import { pageOptions } from './page-options.js';
import type { Visit } from './visit.js';

/** What somebody wants from their provider, in addition to the authorization request. */
export interface SsoRedirectOptions {
  /** The address that they typed, instead of `login_hint`. */
  email?: string | null;
  /** Whether they want to be somebody other than the person whom the provider would return at once. */
  isAnother?: boolean;
}

/** How end users get to their identity provider. */
export function createSsoRedirect({ sso, baseUrl, now }: { sso: Sso; baseUrl: string; now: Clock }) {
  const cookie = secretCookie(baseUrl, 'sso');
  const { endUsers, signIn } = sso;

  /** Starts a sign-in and sets the browser's cookie. @throws SsoRefused */
  async function begin(
    { request, reply, authorizeRequest }: Visit,
    connection: SsoConnection,
    { email = null, isAnother = false }: SsoRedirectOptions,
  ) {
    const { method: _, ...same } = authorizeRequest.parameters;
    const parameters = email === null ? same : { ...same, login_hint: email }; // so that nobody has to type it again
    const isOurForm = request.method === 'POST';
    const started = await signIn.start({
      connection,
      purpose: 'identity',
      parameters: isOurForm ? begunHere(parameters) : parameters,
      browser: cookie.read(request),
      loginHint: email ?? authorizeRequest.loginHint,
      forceAuthn: authorizeRequest.prompt.login,
      selectAccount: isAnother || authorizeRequest.prompt.selectAccount,
      maxAge: authorizeRequest.maxAge,
    });
    cookie.set(reply, started.browser, started.expiresAt, now());
    return started.url;
  }

  async function orFailed(visit: Visit, work: () => Promise<FastifyReply>): Promise<FastifyReply> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof SsoRefused)) throw error;
      visit.request.log.info({ refusal: error.code }, 'nobody can be sent to an identity provider');
      return sendSsoFailed(visit, error.code);
    }
  }

  return {
    cookie,

    /**
     * The connection that a sign-in uses at once: the one of its organization, of the address in `login_hint`, or the
     * Environment's default. Null if the person asked for the page, or came back to it.
     */
    async wanted({ client, authorizeRequest, organization }: Visit): Promise<SsoConnection | null> {
      const { defaultSsoConnectionId, hasSso } = client.settings;
      if (!hasSso || authorizeRequest.parameters.method !== undefined) return null;
      if (organization && !(organization.policy.allows.sso || wantsSso(organization.policy))) return null;
      if (organization?.connectionId) return endUsers.connection(client, organization.connectionId);
      // The organization requires its own provider, which is off: anybody who came back from another one would be
      // barred.
      if (organization?.hasConnection && wantsSso(organization.policy)) return null;
      const known =
        authorizeRequest.loginHint === null ? null : await endUsers.connectionFor(client, authorizeRequest.loginHint);
      if (known) return known;
      return defaultSsoConnectionId === null ? null : endUsers.connection(client, defaultSsoConnectionId);
    },

    /** The connection that is responsible for a typed address. */
    ofAddress: async ({ client }: Visit, email: string): Promise<SsoConnection | null> =>
      client.settings.hasSso && email !== '' ? endUsers.connectionFor(client, email) : null,

    /**
     * Sends the browser to the provider. After a form, a page leads on: the CSP directive `form-action` fixes where a
     * form may lead before the provider is known. If the provider does not answer, a page says so.
     */
    go: (visit: Visit, connection: SsoConnection, options: SsoRedirectOptions = {}): Promise<FastifyReply> =>
      orFailed(visit, async () => {
        const { request, reply, client } = visit;
        const url = await begin(visit, connection, options);
        if (request.method !== 'POST' || wantsJson(request)) return redirect(request, reply, url);
        return sendPage(
          request,
          reply,
          'sso-leave',
          { url, client: shownClient(client), to: 'provider' },
          pageOptions(visit),
        );
      }),
  };
}

export type SsoRedirect = ReturnType<typeof createSsoRedirect>;
