/** The events when a person is removed from an Environment, and from the Account if it was their last Environment. */
export const identityRemovalEvents = [
  'identity.deleted',
  'identity.sessions_revoked',
  'identity.erasure_requested',
  'role_assignment.deleted',
  'organization.member_removed',
  'organization.invitation_expired',
  'organization.invitation_revoked',
  'identity_invite.expired',
  'identity_invite.revoked',
  'auth.identity_signed_out',
] as const;
