import type { EventAction } from '../../domain/events/catalogue.js';
import { provedAddressEvents } from './sign-in.js';

/** The events when a person gets or loses roles through their groups. */
export const roleEvents = ['role_assignment.created', 'role_assignment.deleted'] as const;

/** The events of a change of a User: about the person, their memberships and their roles. */
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

/** The events of a change of a Group. Its directory provisions every new member from then on, even another one's. */
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
