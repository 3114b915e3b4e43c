/** An event's `data` (audit row: `metadata`), besides who, what and where: ids, names of fields and plain settings. */
export type Fields = Readonly<Record<string, string>>;

export const changed = { changed: 'Names of the fields that changed.' };
export const factor = {
  factor_id: 'The factor.',
  factor: 'Its kind: `totp`, `webauthn`, `recovery_code`, `email_otp`.',
};
export const why = { reason: 'The reason, as a code.' };
export const locked = { locked_until: 'When it can try again.' };
export const revoked = { revoked_session_ids: 'The sessions that ended with it.' };
