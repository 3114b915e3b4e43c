/** What is written when something goes that roles and invites of administrators are limited to. */
export const limitEvents = ['member.updated', 'administrator_invite.updated'] as const;

/** What is written when nodes go with all that stands at them: organizations, and what those have to themselves. */
export const nodeRemovalEvents = [
  'node.deleted',
  'organization.deleted',
  'organization.invitation_expired',
  'organization.invitation_revoked',
  'role_assignment.deleted',
  'sso_connection.deleted',
  'sso.domain.deleted',
  'scim_token.revoked',
  'scim_group.deleted',
  'scim_group_mapping.deleted',
  'auth.identity_signed_out',
  'identity.sessions_revoked',
  ...limitEvents,
] as const;

/** What is written when a node moves out of an organization whose directory gives roles there. */
export const movingOutEvents = [
  'scim_group_mapping.deleted',
  'role_assignment.deleted',
  'role_assignment.created',
] as const;
