import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyReply } from 'fastify';
import { nextStep, wantsConfirmation } from '../../domain/oidc/requests/interaction.js';
import { onlyOnce, type Parameters, readParameters } from '../../domain/oidc/requests/parameters.js';
import { firstFactor } from '../../domain/sessions/first-factor.js';
import type { HostedSession } from '../../domain/sessions/sessions.js';
import type { TextKey } from '../../platform/mail/texts.js';
import { environmentScopeOf } from '../../platform/scope.js';
import { assertOwnOrigin } from '../browsers/origin.js';
import { shownClient } from '../pages/page-client.js';
import { redirect } from '../pages/redirect.js';
import { sendPage } from '../pages/send-page.js';
import { wantsJson } from '../pages/wants-json.js';
import { captchaErrorOf, captchaField } from './captcha.js';
import { unlessGone } from './hosted-login.js';
import type { HostedOptions } from './options.js';
import { pageOptions } from './page-options.js';
import { typedEmail } from './typed-email.js';
import type { Visit } from './visit.js';

/** Fields that only our own forms send. */
const formFields = ['email', 'password', 'choice', captchaField] as const;

/** The authorization endpoint (RFC 6749 §3.1, OpenID Connect Core 3.1.2) and its pages. */
export const authorize: FastifyPluginAsyncTypebox<HostedOptions> = async (
  app,
  { provider, logins, captcha, hosted, signInPage, ssoRedirect },
) => {
  const { baseUrl, sessions, now } = provider;

  app.get('/oauth/authorize', async (request, reply) => {
    if (request.method === 'HEAD') return reply.send(); // a HEAD must not issue a code
    const visit = await hosted.enter(request, reply, readParameters(request.query));
    return visit ? proceed(visit) : reply;
  });

  app.post('/oauth/authorize', async (request, reply) => {
    const read = readParameters(request.query, request.body);
    const form = onlyOnce(read, [...formFields, 'session']);
    const isForm = formFields.some((name) => form.has(name));
    if (isForm) assertOwnOrigin(request, baseUrl);
    if (form.get('password')) logins.passwordLogin.assertRoom();
    const visit = await hosted.enter(request, reply, read);
    if (!visit) return reply;
    if (form.has('email') || form.has('password')) return signIn(visit, form);
    if (form.get('choice') === 'continue') return proceed(visit, { shown: form.get('session') ?? null });
    if (form.get('choice') === 'other') return beginAnother(visit, await sessionOf(visit));
    if (isForm) return signInPage.send(visit, { email: '' });
    if (wantsJson(request)) return proceed(visit);
    // A POST from another site comes without our cookie (SameSite=Lax); a GET sends it (OpenID Connect Core 3.1.2.1).
    return redirect(request, reply, '/oauth/authorize', visit.authorizeRequest.parameters);
  });

  const sessionOf = ({ request, client: { environmentId, settings } }: Visit) =>
    sessions.find(hosted.cookies.browser.read(request), environmentId, settings.sessionIdleTtlSeconds);

  /**
   * @param chosen the answer to a page that names the account: whose session it showed; null from a script, which saw
   *   no page
   */
  async function proceed(visit: Visit, chosen?: { shown: string | null }) {
    const { client, authorizeRequest, hintedSubject } = visit;
    const session = await sessionOf(visit);
    // The person's own account is not an application.
    const asksAlways = !visit.toAccount && wantsConfirmation(client, authorizeRequest);
    // Somebody else may have signed in in another tab since then.
    const isChosen = chosen !== undefined && (chosen.shown === null || chosen.shown === session?.id);
    switch (nextStep(authorizeRequest, { session, hintedSubject, chosen: isChosen, asksAlways, now: now() })) {
      case 'continue':
        return hosted.resumed(visit, session as HostedSession, () =>
          beginAnother(visit, session, 'sign_in.notice.not_member'),
        );
      case 'select-account':
        return showAccounts(visit, session as HostedSession);
      case 'login_required':
        return hosted.refuse(visit, 'login_required', 'nobody is signed in as the request requires');
      case 'interaction_required':
        return hosted.refuse(visit, 'interaction_required', 'the person has to confirm which account to use');
      case 'sign-in':
        return begin(visit);
    }
  }

  /** Redirects to the identity provider if one is responsible, or shows the page that asks who the person is. */
  async function begin(visit: Visit) {
    const connection = await ssoRedirect.wanted(visit);
    if (connection) return ssoRedirect.go(visit, connection);
    return signInPage.send(visit, { email: visit.authorizeRequest.loginHint ?? '' });
  }

  /**
   * Like `begin`, for somebody other than the session's person. The identity provider is asked for another account,
   * since it would return the same person at once; and a `login_hint` that names the session's person is dropped.
   */
  async function beginAnother(visit: Visit, session: HostedSession | null, error: TextKey | null = null) {
    const { authorizeRequest } = visit;
    const isHinted = authorizeRequest.loginHint?.toLowerCase() === session?.email.toLowerCase();
    const other = isHinted ? { ...visit, authorizeRequest: { ...authorizeRequest, loginHint: null } } : visit;
    const connection = await ssoRedirect.wanted(other);
    if (connection) return ssoRedirect.go(other, connection, { isAnother: true });
    return signInPage.send(other, { email: other.authorizeRequest.loginHint ?? '', error });
  }

  async function signIn(visit: Visit, form: Parameters) {
    const { request, client } = visit;
    const email = typedEmail(form);
    const password = form.get('password') ?? '';
    const connection = password === '' ? await ssoRedirect.ofAddress(visit, email) : null;
    if (connection) return ssoRedirect.go(visit, connection, { email });
    if (!visit.methods.includes('password')) return signInPage.send(visit, { email });
    if (email === '') return signInPage.send(visit, { email, error: 'sign_in.error.email_missing' });
    if (password === '') return signInPage.send(visit, { email, error: 'sign_in.error.password_missing' });
    const error = await captchaErrorOf(captcha, visit, form);
    if (error) return signInPage.send(visit, { email, error });
    const scope = environmentScopeOf(client);
    const at = now(); // a change during the check of the password comes after this time
    const result = await logins.passwordLogin.signIn(scope, { email, password, ipAddress: request.ip });
    const refuse = () => signInPage.send(visit, { email, error: 'sign_in.error.credentials' });
    if (result.outcome === 'refused') return refuse();
    if (result.outcome === 'unverified') {
      const resendTicket = logins.signUps.resend.ticket(client, result);
      return signInPage.send(visit, { email, error: 'sign_in.error.unverified', resendTicket });
    }
    const { identityId, passwordChangedAt, email: itsEmail } = result;
    const first = firstFactor(identityId, 'password', ['pwd'], { now: at, passwordChangedAt, email: itsEmail });
    return unlessGone(hosted.proved(visit, first), refuse);
  }

  function showAccounts(visit: Visit, { id, email }: HostedSession) {
    const { request, reply, client, authorizeRequest } = visit;
    if (wantsJson(request))
      return sendJson(reply, 'account_selection_required', 'send choice=continue or choice=other');
    return sendPage(
      request,
      reply,
      'select-account',
      {
        action: '/oauth/authorize',
        params: { ...authorizeRequest.parameters, session: id },
        identity: { email },
        client: shownClient(client),
      },
      pageOptions(visit),
    );
  }

  const sendJson = (reply: FastifyReply, error: string, description: string) =>
    reply.code(401).send({ error, error_description: description });
};
