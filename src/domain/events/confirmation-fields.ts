const why = { reason: 'The reason, as a code.' };
const change = { email_change_id: 'The change of the address.' };

/** The fields of events about what waits until an administrator confirms it. */
export const confirmationFields = {
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
};
