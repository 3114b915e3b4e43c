import { Account } from './account.js';
import { AccountIntent } from './account-intent.js';
import { AdministratorInvite } from './administrator-invite.js';
import { AdministratorRole } from './administrator-role.js';
import { ApiKey } from './api-key.js';
import { Application } from './application.js';
import { AuthorizationCode } from './authorization-code.js';
import { ClientAssertion } from './client-assertion.js';
import { Counter } from './counter.js';
import { Email } from './email.js';
import { Environment } from './environment.js';
import { EnvironmentMembership } from './environment-membership.js';
import { EnvironmentSettings } from './environment-settings.js';
import { Erasure } from './erasure.js';
import { Event } from './event.js';
import { Grant } from './grant.js';
import { IdempotentRequest } from './idempotent-request.js';
import { Identity } from './identity.js';
import { Membership } from './membership.js';
import { MembershipRole } from './membership-role.js';
import { MfaGrace } from './mfa-grace.js';
import { OAuthClient } from './oauth-client.js';
import { OutboxMessage } from './outbox-message.js';
import { PasswordLink } from './password-link.js';
import { PendingRegistration } from './pending-registration.js';
import { RateLimit } from './rate-limit.js';
import { RefreshToken } from './refresh-token.js';
import { RevokedAccessToken } from './revoked-access-token.js';
import { Session } from './session.js';
import { SigningKey } from './signing-key.js';
import { Subscription } from './subscription.js';
import { User } from './user.js';
import { UserApplicationState } from './user-application-state.js';
import { UserSession } from './user-session.js';

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
  Counter,
  Email,
  Environment,
  EnvironmentMembership,
  EnvironmentSettings,
  Erasure,
  Event,
  Grant,
  IdempotentRequest,
  Identity,
  Membership,
  MembershipRole,
  MfaGrace,
  OAuthClient,
  OutboxMessage,
  PasswordLink,
  PendingRegistration,
  RateLimit,
  RefreshToken,
  RevokedAccessToken,
  Session,
  SigningKey,
  Subscription,
  User,
  UserApplicationState,
  UserSession,
];
