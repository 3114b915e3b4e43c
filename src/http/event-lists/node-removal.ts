/** The events when something is deleted to which roles and invites of administrators are limited. */
export const limitEvents = ['member.updated', 'administrator_invite.updated'] as const;

/** The events when nodes are deleted with everything at them: organizations, and what belongs to those alone. */
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

/** The events when a node moves out of an organization whose directory grants roles there. */
export const movingOutEvents = [
  'scim_group_mapping.deleted',
  'role_assignment.deleted',
  'role_assignment.created',
] as const;
