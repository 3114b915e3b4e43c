import { changed, type Fields, factor, locked, revoked, why } from './common-fields.js';

const grace = { expires_at: 'Deadline for enrolling a first factor.' };
const challenge = { factor: 'The factor that was tried.', first_factor: 'The first factor that was verified before.' };
const regressed = { factor_id: 'The factor.', stored: 'The stored counter.', received: 'The received counter.' };
const change = { email_change_id: 'The change of the address.' };

/** The fields of the events of `auth-events.ts`. */
export const authFields = {
  'auth.registration_requested': { parked: '`pending_registration`, or `account_intent` for a known user.' },
  'auth.registration_expired': why,
  'auth.registration_discarded': why,
  'auth.registration_cancelled': why,
  'auth.account_intent_discarded': why,
  'auth.account_intent_expired': why,
  'auth.account_intent_cancelled': why,
  'auth.account_intent_failed': why,
  'auth.admin_email_change_requested': change,
  'auth.admin_email_change_withdrawn': { ...change, ...why },
  'auth.admin_email_change_expired': change,
  'auth.admin_email_change_cancelled': change,
  'auth.admin_email_changed': { ...change, revoked_session_ids: 'The sessions that ended with it.' },
  'auth.password_link_requested': { purpose: 'What the link is for.' },
  'auth.password_set': revoked,
  'auth.password_reset': revoked,
  'auth.password_changed': revoked,
  'auth.admin_signed_in': {
    amr: 'The authentication methods (RFC 8176).',
    session_id: 'The session.',
    connection_id: 'The SSO connection.',
  },
  'auth.admin_sign_in_failed': {
    method: 'The method that was tried.',
    reason:
      'The code of the refusal, if an identity provider was involved or the passkey was right, or `sso_required`.',
    connection_id: 'The SSO connection.',
  },
  'auth.admin_locked': locked,
  'auth.admin_mfa_enrolled': factor,
  'auth.admin_mfa_removed': factor,
  'auth.admin_mfa_reset': revoked,
  'auth.admin_updated': changed,
  'auth.admin_mfa_renamed': factor,
  'auth.admin_mfa_challenge_passed': challenge,
  'auth.admin_mfa_challenge_failed': challenge,
  'auth.admin_recovery_code_used': challenge,
  'auth.admin_webauthn_counter_regressed': regressed,
  'auth.identity_sign_in_failed': {
    method: 'The method that was tried.',
    reason: 'The code of the refusal, if the credentials were correct.',
    connection_id: 'The SSO connection.',
  },
  'auth.identity_email_change_requested': change,
  'auth.emailed_code_requested': { purpose: 'What the code is for.' },
  'auth.sign_up_refused': why,
  'auth.identity_signed_out': { reason: 'The reason, if it was not requested.' },
  'auth.mfa_renamed': factor,
  'auth.mfa_challenge_passed': challenge,
  'auth.mfa_challenge_failed': challenge,
  'auth.recovery_code_used': challenge,
  'auth.sso_recovery_code_used': {
    organization_id: 'The organization.',
    connection_id: 'The SSO connection that it replaced.',
  },
  'auth.trusted_devices_revoked': { device_ids: 'The trusted devices.' },
  'auth.mfa_grace_started': grace,
  'auth.mfa_grace_moved': grace,
  'auth.mfa_grace_enrolled': grace,
  'auth.mfa_grace_reset': { ...grace, reason: 'The reason, if nobody requested it.' },
  'auth.mfa_grace_expired': { ...grace, ...why },
  'auth.mfa_grace_cancelled': { ...grace, ...why },
  'auth.grant_revoked': { ...why, oauth_client_id: 'The client that held the grant.' },
  'auth.webauthn_counter_regressed': regressed,
} satisfies Record<string, Fields>;
