import type { EventAction } from '../../domain/events/catalogue.js';
import { joiningEvents } from './joining.js';

/** What may come of a factor that an end user proved, on whichever surface: they are in, wait for another one, or are refused. */
export const signInEvents = [
  'identity.signed_in',
  'auth.identity_sign_in_failed',
  'auth.identity_signed_out',
  'identity.signed_out',
  'auth.mfa_grace_started',
] as const satisfies readonly EventAction[];

/** And of one that was guessed at. */
export const attemptEvents = [...signInEvents, 'identity.locked'] as const satisfies readonly EventAction[];

/** And of a second one. */
export const challengeEvents = [
  ...signInEvents,
  'auth.mfa_challenge_passed',
  'auth.mfa_challenge_failed',
] as const satisfies readonly EventAction[];

/** A factor was enrolled: whoever had time to do so needs it no more. */
export const enrollmentEvents = [
  'identity.mfa_enrolled',
  'auth.mfa_grace_enrolled',
] as const satisfies readonly EventAction[];

/** An address is proved by whoever has the mailbox: whoever had the Identity before is out of it, second factors included. */
export const provedAddressEvents = [
  'identity.email_verified',
  'identity.password_changed',
  'identity.sessions_revoked',
  'identity.mfa_reset',
  'auth.mfa_grace_reset',
] as const satisfies readonly EventAction[];

/** The address of somebody who signed up is confirmed, with the names that they gave: whoever had the Identity before is out of their sessions. */
export const confirmationEvents = [
  ...joiningEvents,
  'identity.updated',
  'identity.email_verified',
  'identity.mfa_reset',
  'auth.mfa_grace_reset',
] as const satisfies readonly EventAction[];

/** Somebody came by an invite: who they are, where they belong from now on, and with which roles. */
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

/** Somebody came by an identity provider, which may have brought them. */
export const ssoEvents = [
  ...signInEvents,
  ...joiningEvents,
  'identity.updated',
  ...provedAddressEvents,
  'organization.member_added',
  'role_assignment.created',
] as const satisfies readonly EventAction[];
