import { Tables1763700000000 } from './1763700000000-tables.js';
import { RowLevelSecurity1763700000001 } from './1763700000001-row-level-security.js';
import { LookUpsByAddress1763700000002 } from './1763700000002-look-ups-by-address.js';
import { AccountIntentsAndPasswordLinks1763700000003 } from './1763700000003-account-intents-and-password-links.js';
import { Administrators1763700000004 } from './1763700000004-administrators.js';
import { GracesErasuresHousekeeping1763700000005 } from './1763700000005-graces-erasures-housekeeping.js';
import { HostedLogin1763700000006 } from './1763700000006-hosted-login.js';
import { SignUps1763700000008 } from './1763700000008-sign-ups.js';
import { ProvedSecondFactors1763700000009 } from './1763700000009-proved-second-factors.js';
import { EndedInvites1763700000020 } from './1763700000020-ended-invites.js';
import { HierarchyAndAccess1763700000030 } from './1763700000030-hierarchy-and-access.js';
import { Subtrees1763700000031 } from './1763700000031-subtrees.js';
import { RoleAssignmentWindows1763700000032 } from './1763700000032-role-assignment-windows.js';
import { RotatedApiKeys1763700000033 } from './1763700000033-rotated-api-keys.js';
import { SearchOfIdentities1763700000034 } from './1763700000034-search-of-identities.js';
import { ListsOfOrganizations1763700000040 } from './1763700000040-lists-of-organizations.js';
import { SignInToOrganizations1763700000041 } from './1763700000041-sign-in-to-organizations.js';
import { IdentityInvites1763700000042 } from './1763700000042-identity-invites.js';
import { NotifiedHolders1763700000043 } from './1763700000043-notified-holders.js';
import { PlansOfHotStatements1763700000045 } from './1763700000045-plans-of-hot-statements.js';
import { PartitionedEvents1763700000050 } from './1763700000050-partitioned-events.js';
import { KeepingOfEvents1763700000051 } from './1763700000051-keeping-of-events.js';
import { Webhooks1763700000060 } from './1763700000060-webhooks.js';
import { WebhookFanOut1763700000061 } from './1763700000061-webhook-fan-out.js';
import { RecipientsOfEmails1763700000062 } from './1763700000062-recipients-of-emails.js';
import { StripedCounters1763700000063 } from './1763700000063-striped-counters.js';
import { SsoDomains1763700000066 } from './1763700000066-sso-domains.js';
import { AccessModels1763700000067 } from './1763700000067-access-models.js';
import { SsoConnections1763700000070 } from './1763700000070-sso-connections.js';
import { SsoRecoveryCodes1763700000071 } from './1763700000071-sso-recovery-codes.js';
import { SsoSigningKeys1763700000073 } from './1763700000073-sso-signing-keys.js';
import { Scim1763700000074 } from './1763700000074-scim.js';
import { EnvironmentRemovals1763700000077 } from './1763700000077-environment-removals.js';
import { Directory1763700000078 } from './1763700000078-directory.js';
import { AdministratorsMfa1763700000079 } from './1763700000079-administrators-mfa.js';
import { SsoTests1763700000081 } from './1763700000081-sso-tests.js';
import { SingleLogout1763700000082 } from './1763700000082-single-logout.js';
import { ScimAtSize1763700000084 } from './1763700000084-scim-at-size.js';
import { DirectoryAtSize1763700000085 } from './1763700000085-directory-at-size.js';
import { Traces1763700000086 } from './1763700000086-traces.js';
import { MillionIdentities1763700000088 } from './1763700000088-million-identities.js';
import { IdleSessions1763700000089 } from './1763700000089-idle-sessions.js';
import { SearchByTextFirst1763700000090 } from './1763700000090-search-by-text-first.js';
import { ScopesOfClients1763700000091 } from './1763700000091-scopes-of-clients.js';
import { Consents1763700000092 } from './1763700000092-consents.js';
import { SlowRecoveryCodes1763700000093 } from './1763700000093-slow-recovery-codes.js';
import { StricterEnvironments1763700000094 } from './1763700000094-stricter-environments.js';
import { RequirePkce1763700000095 } from './1763700000095-require-pkce.js';
import { NodesByTextAndSlug1763700000096 } from './1763700000096-nodes-by-text-and-slug.js';
import { CertificateWarnings1763700000098 } from './1763700000098-certificate-warnings.js';
import { AwaitedMessages1763700000099 } from './1763700000099-awaited-messages.js';
import { EndedAtProvider1763700000100 } from './1763700000100-ended-at-provider.js';
import { CountedRows1763700000103 } from './1763700000103-counted-rows.js';
import { MfaResetOfUsers1763700000104 } from './1763700000104-mfa-reset-of-users.js';
import { FewOfManyProcesses1763700000105 } from './1763700000105-few-of-many-processes.js';
import { AMonthAtATime1763700000106 } from './1763700000106-a-month-at-a-time.js';
import { RingByWhatCameLast1763700000107 } from './1763700000107-ring-by-what-came-last.js';
import { TimeOfAuthentication1763700000108 } from './1763700000108-time-of-authentication.js';
import { PlacesOfEvents1763700000109 } from './1763700000109-places-of-events.js';
import { FormerProviders1763700000110 } from './1763700000110-former-providers.js';
import { BrowsersThatRegister1763700000111 } from './1763700000111-browsers-that-register.js';
import { KeptOutBy1763700000119 } from './1763700000119-kept-out-by.js';
import { OverdueInvitations1763700000123 } from './1763700000123-overdue-invitations.js';
import { KeyedRequests1763700000124 } from './1763700000124-keyed-requests.js';
import { AdministratorsTimeOfAuthentication1763700000125 } from './1763700000125-administrators-time-of-authentication.js';
import { WebhookStops1763700000127 } from './1763700000127-webhook-stops.js';
import { RemovedClients1763700000128 } from './1763700000128-removed-clients.js';
import { ClosedAccounts1763700000135 } from './1763700000135-closed-accounts.js';
import { EndedInvitesOfAddress1763700000136 } from './1763700000136-ended-invites-of-address.js';
import { EndOfProviderSessions1763700000137 } from './1763700000137-end-of-provider-sessions.js';
import { CountedInactive1763700000138 } from './1763700000138-counted-inactive.js';
import { DeliverersOfAnswers1763700000139 } from './1763700000139-deliverers-of-answers.js';
import { WaymarksOfMembers1763700000140 } from './1763700000140-waymarks-of-members.js';
import { AddressesInALabels1763700000141 } from './1763700000141-addresses-in-a-labels.js';
import { OwnFactors1763700000142 } from './1763700000142-own-factors.js';
import { VerifiedByWord1763700000143 } from './1763700000143-verified-by-word.js';
import { UsedMasterKeys1763700000144 } from './1763700000144-used-master-keys.js';
import { InitiateLoginUri1763700000145 } from './1763700000145-initiate-login-uri.js';
import { HeldAtANode1763700000147 } from './1763700000147-held-at-a-node.js';
import { WaitingForAnAddress1763700000148 } from './1763700000148-waiting-for-an-address.js';
import { OutboxOfOthers1763700000149 } from './1763700000149-outbox-of-others.js';
import { OverAssignments1763700000150 } from './1763700000150-over-assignments.js';
import { EventsOfNoMonth1763700000151 } from './1763700000151-events-of-no-month.js';
import { AttemptsOfMails1763700000152 } from './1763700000152-attempts-of-mails.js';
import { OutboxByAccount1763700000153 } from './1763700000153-outbox-by-account.js';
import { CanonicalRequests1763700000154 } from './1763700000154-canonical-requests.js';

/** All migrations, in the order in which they run. */
export const migrations = [
  Tables1763700000000,
  RowLevelSecurity1763700000001,
  LookUpsByAddress1763700000002,
  AccountIntentsAndPasswordLinks1763700000003,
  Administrators1763700000004,
  GracesErasuresHousekeeping1763700000005,
  HostedLogin1763700000006,
  SignUps1763700000008,
  ProvedSecondFactors1763700000009,
  EndedInvites1763700000020,
  HierarchyAndAccess1763700000030,
  Subtrees1763700000031,
  RoleAssignmentWindows1763700000032,
  RotatedApiKeys1763700000033,
  SearchOfIdentities1763700000034,
  ListsOfOrganizations1763700000040,
  SignInToOrganizations1763700000041,
  IdentityInvites1763700000042,
  NotifiedHolders1763700000043,
  PlansOfHotStatements1763700000045,
  PartitionedEvents1763700000050,
  KeepingOfEvents1763700000051,
  Webhooks1763700000060,
  WebhookFanOut1763700000061,
  RecipientsOfEmails1763700000062,
  StripedCounters1763700000063,
  SsoDomains1763700000066,
  AccessModels1763700000067,
  SsoConnections1763700000070,
  SsoRecoveryCodes1763700000071,
  SsoSigningKeys1763700000073,
  Scim1763700000074,
  EnvironmentRemovals1763700000077,
  Directory1763700000078,
  AdministratorsMfa1763700000079,
  SsoTests1763700000081,
  SingleLogout1763700000082,
  ScimAtSize1763700000084,
  DirectoryAtSize1763700000085,
  Traces1763700000086,
  MillionIdentities1763700000088,
  IdleSessions1763700000089,
  SearchByTextFirst1763700000090,
  ScopesOfClients1763700000091,
  Consents1763700000092,
  SlowRecoveryCodes1763700000093,
  StricterEnvironments1763700000094,
  RequirePkce1763700000095,
  NodesByTextAndSlug1763700000096,
  CertificateWarnings1763700000098,
  AwaitedMessages1763700000099,
  EndedAtProvider1763700000100,
  CountedRows1763700000103,
  MfaResetOfUsers1763700000104,
  FewOfManyProcesses1763700000105,
  AMonthAtATime1763700000106,
  RingByWhatCameLast1763700000107,
  TimeOfAuthentication1763700000108,
  PlacesOfEvents1763700000109,
  FormerProviders1763700000110,
  BrowsersThatRegister1763700000111,
  KeptOutBy1763700000119,
  OverdueInvitations1763700000123,
  KeyedRequests1763700000124,
  AdministratorsTimeOfAuthentication1763700000125,
  WebhookStops1763700000127,
  RemovedClients1763700000128,
  ClosedAccounts1763700000135,
  EndedInvitesOfAddress1763700000136,
  EndOfProviderSessions1763700000137,
  CountedInactive1763700000138,
  DeliverersOfAnswers1763700000139,
  WaymarksOfMembers1763700000140,
  AddressesInALabels1763700000141,
  OwnFactors1763700000142,
  VerifiedByWord1763700000143,
  UsedMasterKeys1763700000144,
  InitiateLoginUri1763700000145,
  HeldAtANode1763700000147,
  WaitingForAnAddress1763700000148,
  OutboxOfOthers1763700000149,
  OverAssignments1763700000150,
  EventsOfNoMonth1763700000151,
  AttemptsOfMails1763700000152,
  OutboxByAccount1763700000153,
  CanonicalRequests1763700000154,
];
