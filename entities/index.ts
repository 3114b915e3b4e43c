import { Account } from './account.js';
import { AccountIntent } from './account-intent.js';
import { AdministratorInvite } from './administrator-invite.js';
import { AdministratorRole } from './administrator-role.js';
import { ApiKey } from './api-key.js';
import { Application } from './application.js';
import { AuthorizationCode } from './authorization-code.js';
import { ClientAssertion } from './client-assertion.js';
import { Consent } from './consent.js';
import { Counter } from './counter.js';
import { CounterStripe } from './counter-stripe.js';
import { DailySignUps } from './daily-sign-ups.js';
import { Email } from './email.js';
import { EmailChange } from './email-change.js';
import { EmailedCode } from './emailed-code.js';
import { Environment } from './environment.js';
import { EnvironmentMembership } from './environment-membership.js';
import { EnvironmentRemoval } from './environment-removal.js';
import { EnvironmentSettings } from './environment-settings.js';
import { Erasure } from './erasure.js';
import { Event } from './event.js';
import { EventCount } from './event-count.js';
import { EventMark, EventPartition, EventState } from './event-state.js';
import { FeedReader } from './feed-reader.js';
import { Grant } from './grant.js';
import { IdempotentRequest } from './idempotent-request.js';
import { Identity } from './identity.js';
import { IdentityInvite } from './identity-invite.js';
import { IdentityLink } from './identity-link.js';
import { MemberShift } from './member-shift.js';
import { MemberWaymark } from './member-waymark.js';
import { Membership } from './membership.js';
import { MembershipRole } from './membership-role.js';
import { MfaFactor } from './mfa-factor.js';
import { MfaGrace } from './mfa-grace.js';
import { Node } from './node.js';
import { NodeTypeSchema } from './node-type-schema.js';
import { OAuthClient } from './oauth-client.js';
import { Organization } from './organization.js';
import { OrganizationMember } from './organization-member.js';
import { OutboxMessage } from './outbox-message.js';
import { PasswordLink } from './password-link.js';
import { PendingRegistration } from './pending-registration.js';
import { PendingSignIn } from './pending-sign-in.js';
import { PendingUserSignIn } from './pending-user-sign-in.js';
import { Permission } from './permission.js';
import { RateLimit } from './rate-limit.js';
import { RecoveryCode } from './recovery-code.js';
import { RefreshToken } from './refresh-token.js';
import { RemovedClient } from './removed-client.js';
import { RevokedAccessToken } from './revoked-access-token.js';
import { Role } from './role.js';
import { RoleAssignment } from './role-assignment.js';
import { RoleAssignmentWindow } from './role-assignment-window.js';
import { RolePermission } from './role-permission.js';
import { RowCount } from './row-count.js';
import { ScimAssignment } from './scim-assignment.js';
import { ScimGroup } from './scim-group.js';
import { ScimGroupMapping } from './scim-group-mapping.js';
import { ScimGroupMember } from './scim-group-member.js';
import { ScimToken } from './scim-token.js';
import { ScimUser } from './scim-user.js';
import { Session } from './session.js';
import { SigningKey } from './signing-key.js';
import { SpentToken } from './spent-token.js';
import { SsoConnection } from './sso-connection.js';
import { SsoDomain } from './sso-domain.js';
import { SsoLink } from './sso-link.js';
import { SsoLogout } from './sso-logout.js';
import { SsoRecoveryCode } from './sso-recovery-code.js';
import { SsoRequest } from './sso-request.js';
import { SsoSession } from './sso-session.js';
import { SsoSigningKey } from './sso-signing-key.js';
import { SsoTest } from './sso-test.js';
import { Subscription } from './subscription.js';
import { TrustedDevice } from './trusted-device.js';
import { UsedMasterKey } from './used-master-key.js';
import { User } from './user.js';
import { UserApplicationState } from './user-application-state.js';
import { UserMfaFactor } from './user-mfa-factor.js';
import { UserRecoveryCode } from './user-recovery-code.js';
import { UserSession } from './user-session.js';
import { WaymarkedEnvironment } from './waymarked-environment.js';
import { Webhook } from './webhook.js';
import { WebhookAttempt } from './webhook-attempt.js';
import { WebhookDelivery } from './webhook-delivery.js';
import { WebhookQueue } from './webhook-queue.js';
import { WebhookRoute } from './webhook-route.js';
import { WebhookStop } from './webhook-stop.js';

/** Every entity, for the data source. */
export const entities = [
  Account,
  AccountIntent,
  AdministratorInvite,
  AdministratorRole,
  ApiKey,
  Application,
  AuthorizationCode,
  ClientAssertion,
  Consent,
  Counter,
  CounterStripe,
  DailySignUps,
  Email,
  EmailChange,
  EmailedCode,
  Environment,
  EnvironmentMembership,
  EnvironmentRemoval,
  EnvironmentSettings,
  Erasure,
  Event,
  EventCount,
  EventMark,
  EventPartition,
  EventState,
  FeedReader,
  Grant,
  IdempotentRequest,
  Identity,
  IdentityInvite,
  IdentityLink,
  MemberShift,
  MemberWaymark,
  Membership,
  MembershipRole,
  MfaFactor,
  MfaGrace,
  Node,
  NodeTypeSchema,
  OAuthClient,
  Organization,
  OrganizationMember,
  OutboxMessage,
  PasswordLink,
  PendingRegistration,
  PendingSignIn,
  PendingUserSignIn,
  Permission,
  RateLimit,
  RecoveryCode,
  RefreshToken,
  RemovedClient,
  RevokedAccessToken,
  Role,
  RoleAssignment,
  RoleAssignmentWindow,
  RolePermission,
  RowCount,
  ScimAssignment,
  ScimGroup,
  ScimGroupMapping,
  ScimGroupMember,
  ScimToken,
  ScimUser,
  Session,
  SigningKey,
  SpentToken,
  SsoConnection,
  SsoDomain,
  SsoLink,
  SsoLogout,
  SsoRecoveryCode,
  SsoRequest,
  SsoSession,
  SsoSigningKey,
  SsoTest,
  Subscription,
  TrustedDevice,
  UsedMasterKey,
  User,
  UserApplicationState,
  UserMfaFactor,
  UserRecoveryCode,
  UserSession,
  WaymarkedEnvironment,
  Webhook,
  WebhookAttempt,
  WebhookDelivery,
  WebhookQueue,
  WebhookRoute,
  WebhookStop,
];
