import type { EventAction } from '../../domain/events/catalogue.js';
import { provedAddressEvents } from './sign-in.js';

/** What a person gets or loses by their groups. */
export const roleEvents = ['role_assignment.created', 'role_assignment.deleted'] as const;

/** What a change of a User may have recorded: of the person, of what they are a member of, and of what they hold. */
export const userEvents: readonly EventAction[] = [
  'scim_user.linked',
  'scim_user.updated',
  'scim_user.unlinked',
  'identity.created',
  'identity.updated',
  ...provedAddressEvents,
  'identity.activated',
  'identity.deactivated',
  'identity.deleted',
  'identity.erasure_requested',
  'auth.identity_signed_out',
  'identity_invite.expired',
  'identity_invite.revoked',
  'organization.invitation_expired',
  'organization.invitation_revoked',
  'organization.member_added',
  'organization.member_removed',
  ...roleEvents,
];

/** A member whom the directory did not provision before is one whom it does from then on, though another one did. */
export const groupEvents: readonly EventAction[] = [
  'scim_group.created',
  'scim_group.updated',
  'scim_group.deleted',
  'scim_group_mapping.deleted',
  'scim_user.linked',
  'scim_user.unlinked',
  'identity.activated',
  'identity.sessions_revoked',
  'auth.identity_signed_out',
  ...roleEvents,
];
