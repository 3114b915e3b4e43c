import type { FastifyReply } from 'fastify';
import { isMailAddress } from '../../domain/logins/address.js';
import { OAuthError } from '../../domain/oidc/oauth-error.js';
import { wantsSso } from '../../domain/organizations/barred.js';
import type { OfferedConnection } from '../../domain/organizations/sign-in-policy.js';
import type { Captcha } from '../../platform/captcha.js';
import type { TextKey } from '../../platform/mail/texts.js';
import { shownClient } from '../pages/page-client.js';
import { sendPage } from '../pages/send-page.js';
import { wantsJson } from '../pages/wants-json.js';
import { methodNames, recoveryUrlOf, sendBarred } from './barred-page.js';
import { signInNeedsCaptcha } from './captcha.js';
import { pageOptions } from './page-options.js';
import { refusalInJson } from './refusal-in-json.js';
import { codeMethodOf, isRecovery, letsSignUp, offersSso, type Visit, withChosenMethod } from './visit.js';

export interface ShownSignIn {
  /** The initial value of the field. */
  email: string;
  /** What was wrong (`sign_in.error.…`), or a notice in advance (`sign_in.notice.…`). */
  error?: TextKey | null;
  /** For somebody who knew the password and has not confirmed the address: lets them have the mail sent again. */
  resendTicket?: string | null;
}

/** Errors that refuse somebody, as opposed to asking for something that they have not sent yet. */
const refusals: TextKey[] = [
  'sign_in.error.credentials',
  'sign_in.error.unverified',
  'sign_in.error.captcha',
  'sign_in.error.code_disabled',
  'sign_in.error.daily_cap',
];

/** A notice in advance. The account pages ask for a recent sign-in (`max_age`) before protected changes. */
function noticeOf({ authorizeRequest, toAccount }: Visit): TextKey | null {
  if (isRecovery(authorizeRequest)) return 'sign_in.notice.recovery';
  return toAccount && authorizeRequest.maxAge !== null ? 'sign_in.notice.own_account' : null;
}

/** The page that asks who the person is, by methods that the client's Environment and the organization allow. */
export function createSignInPage({ captcha }: { captcha: Pick<Captcha, 'siteKey'> }) {
  const siteKeyFor = ({ client }: Visit) => (signInNeedsCaptcha(client) ? captcha.siteKey : null);

  /** The values that all forms share, without `method`, which each form sets itself. */
  function valuesOf(visit: Visit, { email, error }: ShownSignIn) {
    const { client, authorizeRequest } = visit;
    const notice = noticeOf(visit);
    const params = withChosenMethod(authorizeRequest.parameters);
    const shown = shownClient(client);
    const passkey = visit.methods.includes('passkey');
    const organization = visit.organization?.name ?? null;
    return {
      params,
      email,
      error: error ?? notice,
      captcha: siteKeyFor(visit),
      passkey,
      organization,
      client: shown,
      ssoUrl: offersSso(visit) ? '/oauth/sso' : null,
    };
  }

  function sendPasswordForm(visit: Visit, shown: ShownSignIn): FastifyReply {
    const { request, reply, methods } = visit;
    const values = valuesOf(visit, shown);
    if (wantsJson(request)) return sendRefusal(visit, shown, 'send email and password with the same parameters');
    return sendPage(
      request,
      reply,
      'sign-in',
      {
        ...values,
        action: '/oauth/authorize',
        codeUrl: methods.includes('email_otp') ? '/oauth/login/email-otp/start' : null,
        signUpUrl: letsSignUp(visit) ? urlOf('/oauth/register', alsoNamed(values)) : null,
        forgotUrl: urlOf('/oauth/password/forgot', alsoNamed(values)),
        resendTicket: shown.resendTicket ?? null,
      },
      { ...pageOptions(visit), captcha: values.captcha !== null, scripts: values.passkey ? ['webauthn'] : [] },
    );
  }

  /** Asks for the address to which a code is mailed. */
  function sendCodeForm(visit: Visit, shown: ShownSignIn): FastifyReply {
    const { request, reply, methods } = visit;
    const { params, ...values } = valuesOf(visit, shown);
    if (wantsJson(request)) {
      return sendRefusal(visit, shown, 'send email with the same parameters to /oauth/login/email-otp/start');
    }
    return sendPage(
      request,
      reply,
      'sign-in-address',
      {
        ...values,
        way: 'code',
        action: '/oauth/login/email-otp/start',
        params: { ...params, method: codeMethodOf(visit) },
        passwordUrl: methods.includes('password') ? `/oauth/authorize?${new URLSearchParams(params)}` : null,
        signUpUrl: canSignUpHere(visit) ? urlOf('/oauth/register', alsoNamed({ params, ...values })) : null,
        recoveryUrl: null,
      },
      { ...pageOptions(visit), captcha: values.captcha !== null, scripts: values.passkey ? ['webauthn'] : [] },
    );
  }

  /** Asks for the address whose identity provider signs the person in, if nothing else is on except maybe passkeys. */
  function sendSsoForm(visit: Visit, shown: ShownSignIn): FastifyReply {
    const { request, reply, methods, organization } = visit;
    const values = valuesOf(visit, shown);
    if (wantsJson(request)) {
      const orPasskey = values.passkey ? ', or ask /oauth/login/passkey/options with them' : '';
      return sendRefusal(visit, shown, `send email with the same parameters to /oauth/sso${orPasskey}`);
    }
    const isLost = values.error === 'sign_in.error.no_provider' && methods.length === 0;
    return sendPage(
      request,
      reply,
      'sign-in-address',
      {
        ...values,
        way: 'sso',
        action: '/oauth/sso',
        error: isLost ? 'sign_in.error.no_provider_at_all' : values.error,
        ssoUrl: null,
        passwordUrl: null,
        signUpUrl: null,
        recoveryUrl: organization && wantsSso(organization.policy) ? recoveryUrlOf(visit) : null,
        captcha: null,
      },
      { ...pageOptions(visit), scripts: values.passkey ? ['webauthn'] : [] },
    );
  }

  function sendPasskeyButton(visit: Visit, shown: ShownSignIn): FastifyReply {
    const { request, reply } = visit;
    const { params, client, organization, error } = valuesOf(visit, shown);
    if (wantsJson(request))
      return sendRefusal(visit, shown, 'ask /oauth/login/passkey/options with the same parameters');
    return sendPage(
      request,
      reply,
      'sign-in-passkey',
      { params, client, organization, error },
      { ...pageOptions(visit), scripts: ['webauthn'] },
    );
  }

  return {
    sendCodeForm,

    /** Shows the page, at first or again. A script gets the same in JSON. @throws OAuthError access_denied */
    send(visit: Visit, shown: ShownSignIn): FastifyReply {
      const { methods, organization } = visit;
      if (organization && wantsSso(organization.policy) && methods.length === 0) {
        const connections = connectionsOf(visit, organization);
        const goesByAddress = visit.client.settings.hasSso && !organization.hasConnection && connections.length === 0;
        if (goesByAddress) return sendSsoForm(visit, shown);
        return sendBarred(visit, { code: 'sso_required', methods: [], connections });
      }
      const wantsCode = visit.authorizeRequest.parameters.method === 'code' || !methods.includes('password');
      if (methods.includes('email_otp') && wantsCode) return sendCodeForm(visit, shown);
      if (methods.includes('password')) return sendPasswordForm(visit, shown);
      if (offersSso(visit)) return sendSsoForm(visit, shown);
      if (methods.includes('passkey')) return sendPasskeyButton(visit, shown);
      if (organization)
        return sendBarred(
          visit,
          { code: 'login.method_not_allowed', methods: [], connections: [] },
          { isKnown: false },
        );
      throw new OAuthError('access_denied', 'no sign-in method is enabled');
    },
  };
}

/**
 * The connections for somebody whose organization only accepts an identity provider. An organization without a
 * connection of its own accepts those of the Environment: the default one, or, if there is none, the one that the
 * address determines.
 */
function connectionsOf(
  { client }: Visit,
  { connectionId, hasConnection, name }: NonNullable<Visit['organization']>,
): OfferedConnection[] {
  if (connectionId !== null) return [{ id: connectionId, name }];
  const { defaultSsoConnectionId: id } = client.settings;
  return hasConnection || id === null ? [] : [{ id, name: null }];
}

/** The parameters of a link to a page that asks for the address again: they include the one that was typed. */
const alsoNamed = ({ params, email }: { params: Record<string, string>; email: string }): Record<string, string> =>
  isMailAddress(email) ? { ...params, login_hint: email } : params;

const urlOf = (path: string, params: Record<string, string>) => `${path}?${new URLSearchParams(params)}`;
/** If codes are the only way in, the first right code signs up. */
const canSignUpHere = (visit: Visit) => letsSignUp(visit) && visit.client.settings.passwordLoginEnabled;

function sendRefusal(
  { reply, methods }: Visit,
  { error = null, resendTicket }: ShownSignIn,
  next: string,
): FastifyReply {
  return reply.code(401).send({
    error: error !== null && refusals.includes(error) ? 'access_denied' : 'login_required',
    ...(error === null ? { error_description: next } : refusalInJson(error)),
    ...(resendTicket && { resend_ticket: resendTicket }),
    methods: methods.map((method) => methodNames[method]),
  });
}

export type SignInPage = ReturnType<typeof createSignInPage>;
