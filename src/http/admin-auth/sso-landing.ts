import type { FastifyReply, FastifyRequest } from 'fastify';
import type { SignedIn } from '../../domain/users/outcomes.js';
import type { ProviderOutcome } from '../../domain/users/sign-in.js';
import { adminAppOf } from '../../platform/admin-app.js';
import { browserLocaleOf } from '../pages/locale.js';
import { redirect } from '../pages/redirect.js';
import { wantsJson } from '../pages/wants-json.js';
import { presentSignedIn } from './answers.js';
import { createAdminCookies } from './cookies.js';
import type { AdminPages } from './origin.js';
import { presentOutcome } from './outcomes.js';
import { sendAdminPage } from './pages.js';

/** Where a browser ends up after it has signed an administrator in by an identity provider. */
export function createAdminLanding(pages: AdminPages) {
  const cookies = createAdminCookies(pages.baseUrl);
  const app = adminAppOf(pages);

  /** Sets the session's cookies, and leads to the administrators' application, or to a page that confirms it. */
  function signedIn(request: FastifyRequest, reply: FastifyReply, session: SignedIn): FastifyReply {
    cookies.set(reply, session);
    if (wantsJson(request)) return reply.send({ data: { outcome: 'authenticated', ...presentSignedIn(session) } });
    if (app !== null) return redirect(request, reply, app);
    return sendAdminPage(
      reply,
      'admin-signed-in',
      { accountName: session.account?.name ?? '' },
      browserLocaleOf(request),
    );
  }

  return {
    signedIn,
    /**
     * Like `signedIn`, or first offers a choice of Application. The administrators' application asks for a second
     * factor: the token is in the fragment of its address, which is not sent to any server. Without such an application
     * nobody can ask.
     */
    arrived(request: FastifyRequest, reply: FastifyReply, result: ProviderOutcome): FastifyReply {
      if (result.outcome === 'mfa_required') {
        if (wantsJson(request)) return reply.send({ data: presentOutcome(result) });
        if (app === null) return sendAdminPage(reply, 'admin-mfa-elsewhere', {}, browserLocaleOf(request));
        const { outcome, challengeToken } = result;
        const fragment = new URLSearchParams({ outcome, challenge_token: challengeToken });
        return redirect(request, reply, `${app}#${fragment}`);
      }
      if (result.outcome !== 'application_selection_required') return signedIn(request, reply, result);
      if (wantsJson(request)) return reply.send({ data: presentOutcome(result) });
      const applications = result.applications.map(({ id, name, account }) => ({
        id,
        name,
        accountName: account.name,
      }));
      const values = { action: '/v1/auth/sso/select-application', token: result.selectionToken, applications };
      // The answer to the form leads to the administrators' application.
      return sendAdminPage(reply, 'choose-application', values, browserLocaleOf(request), [app ?? pages.baseUrl]);
    },
  };
}

export type AdminLanding = ReturnType<typeof createAdminLanding>;
