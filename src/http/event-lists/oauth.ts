import type { FastifyInstance } from 'fastify';
import type { EventAction } from '../../domain/events/catalogue.js';
import { joiningEvents } from './joining.js';
import {
  acceptanceEvents,
  attemptEvents,
  challengeEvents,
  confirmationEvents,
  emailChangeEvents,
  enrollmentEvents,
  provedAddressEvents,
  signInEvents,
  ssoEvents,
} from './sign-in.js';

const providerLogoutEvents = [
  'auth.identity_signed_out',
  'identity.sessions_revoked',
  'auth.admin_session_revoked',
] as const satisfies readonly EventAction[];
const adminSsoEvents = [
  'auth.admin_signed_in',
  'auth.admin_sign_in_failed',
  'member.added',
  'administrator_invite.accepted',
  'auth.registration_discarded',
] as const satisfies readonly EventAction[];
const enrollmentInSignIn = [...signInEvents, ...enrollmentEvents] as const;

/** The events that each route under `/oauth` may have recorded when it answers (`operation.ts`). */
const oauthEvents: Readonly<Record<string, readonly EventAction[]>> = {
  'GET /oauth/authorize': ['auth.mfa_grace_started'],
  'POST /oauth/authorize': attemptEvents,
  'GET /oauth/consent': [],
  'POST /oauth/consent': ['auth.mfa_grace_started', 'identity.consent_given'],
  'GET /oauth/sso': [],
  'POST /oauth/sso': [],
  'POST /oauth/sso/recovery': [...signInEvents, 'auth.sso_recovery_code_used'],
  'GET /sso/oidc/:connection_id/callback': ['auth.identity_sign_in_failed', 'sso_connection.auto_disabled'],
  'POST /sso/oidc/:connection_id/backchannel-logout': providerLogoutEvents,
  'GET /sso/saml/:connection_id/metadata': [],
  'POST /sso/saml/:connection_id/acs': ['auth.identity_sign_in_failed', 'sso_connection.auto_disabled'],
  'GET /sso/saml/:connection_id/slo': providerLogoutEvents,
  'POST /sso/saml/:connection_id/slo': providerLogoutEvents,
  'GET /sso/complete': [...ssoEvents, ...adminSsoEvents, 'sso_connection.tested'],
  'POST /sso/complete': [...ssoEvents, ...adminSsoEvents],
  'GET /sso/test': [],
  'POST /sso/test': ['sso_connection.tested'],
  'POST /oauth/login/email-otp/start': ['auth.emailed_code_requested'],
  'POST /oauth/login/email-otp/verify': [
    ...attemptEvents,
    ...joiningEvents,
    ...provedAddressEvents,
    'auth.sign_up_refused',
  ],
  'POST /oauth/login/passkey/options': [],
  'POST /oauth/login/passkey/verify': [...signInEvents, 'auth.webauthn_counter_regressed'],
  'POST /oauth/mfa-challenge': [...challengeEvents, 'auth.recovery_code_used'],
  'POST /oauth/mfa/email-otp/send': ['auth.emailed_code_requested'],
  'POST /oauth/mfa/email-otp/verify': challengeEvents,
  'POST /oauth/mfa/webauthn/options': [],
  'POST /oauth/mfa/webauthn/verify': [...challengeEvents, 'auth.webauthn_counter_regressed'],
  'POST /oauth/mfa/enroll': signInEvents,
  'POST /oauth/mfa/totp/enroll': enrollmentInSignIn,
  'POST /oauth/mfa/email-otp/enroll/send': ['auth.emailed_code_requested'],
  'POST /oauth/mfa/email-otp/enroll/verify': enrollmentInSignIn,
  'POST /oauth/mfa/webauthn/enroll/options': [],
  'POST /oauth/mfa/webauthn/enroll/verify': enrollmentInSignIn,
  'POST /oauth/mfa-enroll-codes': signInEvents,
  'POST /oauth/register': ['auth.sign_up_requested', 'auth.sign_up_refused', 'identity.created'],
  'POST /oauth/verify-email': confirmationEvents,
  'POST /oauth/verify-email/resend': ['auth.verification_mail_requested'],
  'POST /oauth/invite': acceptanceEvents,
  'POST /oauth/password/forgot': ['auth.identity_password_link_requested'],
  'POST /oauth/password/reset': provedAddressEvents,
  'GET /oauth/logout': ['auth.identity_signed_out', 'identity.signed_out'],
  'POST /oauth/logout': ['auth.identity_signed_out', 'identity.signed_out'],
  'POST /oauth/account/password': [
    'identity.password_changed',
    'identity.sessions_revoked',
    'auth.identity_password_change_failed',
  ],
  'POST /oauth/account/email': [
    'auth.identity_email_change_requested',
    'auth.emailed_code_requested',
    ...emailChangeEvents,
  ],
  'POST /oauth/account/factors/totp': enrollmentEvents,
  'POST /oauth/account/factors/webauthn/options': [],
  'POST /oauth/account/factors/webauthn': enrollmentEvents,
  'POST /oauth/account/factors/email-otp': ['auth.emailed_code_requested', ...enrollmentEvents],
  'POST /oauth/account/factors/:id': ['identity.mfa_removed', 'auth.mfa_grace_reset'],
  'POST /oauth/account/factors/:id/name': ['auth.mfa_renamed'],
  'POST /oauth/account/recovery-codes': ['auth.recovery_codes_renewed'],
  'POST /oauth/account/sessions': ['identity.sessions_revoked', 'auth.identity_signed_out'],
  'POST /oauth/account/devices': ['auth.trusted_devices_revoked'],
  'POST /oauth/account/applications': ['auth.grant_revoked', 'identity.consent_withdrawn'],
  'POST /oauth/token': ['auth.grant_revoked', 'session.code_reuse_detected', 'session.refresh_reuse_detected'],
  'POST /oauth/revoke': ['auth.grant_revoked'],
  'POST /oauth/introspect': [],
  'POST /oauth/userinfo': [],
};

/** Adds its events to the config of every route that is registered afterwards. */
export function declareEvents(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    const method = String(route.method).replace('HEAD', 'GET');
    const events = oauthEvents[`${method} ${route.url}`];
    if (events) route.config = { ...route.config, events };
  });
}
