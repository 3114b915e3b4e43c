import type { EventAction } from '../../domain/events/catalogue.js';
import { joiningEvents } from './joining.js';

/** The events when an end user proves a factor, on any surface: they are signed in, asked for another, or refused. */
export const signInEvents = [
  'identity.signed_in',
  'auth.identity_sign_in_failed',
  'auth.identity_signed_out',
  'identity.signed_out',
  'auth.mfa_grace_started',
] as const satisfies readonly EventAction[];

/** Those, and the event when too many guesses have locked the person. */
export const attemptEvents = [...signInEvents, 'identity.locked'] as const satisfies readonly EventAction[];

/** The events when an end user answers the challenge for a second factor. */
export const challengeEvents = [
  ...signInEvents,
  'auth.mfa_challenge_passed',
  'auth.mfa_challenge_failed',
] as const satisfies readonly EventAction[];

/** The events when a factor is enrolled, which also ends the period of grace for doing so. */
export const enrollmentEvents = [
  'identity.mfa_enrolled',
  'auth.mfa_grace_enrolled',
] as const satisfies readonly EventAction[];

/** The events when a person confirms their new address, or tries to. */
export const emailChangeEvents = [
  'identity.updated',
  'identity.email_verified',
  'identity.sessions_revoked',
  'auth.identity_email_change_failed',
] as const satisfies readonly EventAction[];

/** The events when a mailbox's owner proves the address: whoever used the Identity before loses all access to it. */
export const provedAddressEvents = [
  'identity.email_verified',
  'identity.password_changed',
  'identity.sessions_revoked',
  'identity.mfa_reset',
  'auth.mfa_grace_reset',
] as const satisfies readonly EventAction[];

/**
 * The events when the address of somebody who signed up is confirmed, with the names that they gave: anybody who used
 * the Identity before loses their sessions.
 */
export const confirmationEvents = [
  ...joiningEvents,
  'identity.updated',
  'identity.email_verified',
  'identity.mfa_reset',
  'auth.mfa_grace_reset',
] as const satisfies readonly EventAction[];

/** The events when an invite is accepted: about the person, their new memberships, and the roles in them. */
export const acceptanceEvents = [
  'identity_invite.accepted',
  'identity_invite.role_not_given',
  ...joiningEvents,
  'identity.updated',
  ...provedAddressEvents,
  'organization.invitation_accepted',
  'organization.invitation_role_not_given',
  'organization.member_added',
  'role_assignment.created',
] as const satisfies readonly EventAction[];

/** The events of a sign-in at an identity provider, which may also provision the person. */
export const ssoEvents = [
  ...signInEvents,
  ...joiningEvents,
  'identity.updated',
  ...provedAddressEvents,
  'organization.member_added',
  'role_assignment.created',
] as const satisfies readonly EventAction[];
