// What each process is started with: ids and times only, since histories are kept and many may read them.

export interface RegistrationVerificationInput {
  pendingRegistrationId: string;
  /** ISO times. The row has its own `expires_at`, and decides. */
  expiresAt: string;
  reminderAt: string | null;
  /** For one that runs already, by way of the outbox: its row has ended. */
  news?: 'discarded';
}

export interface AccountIntentInput {
  intentId: string;
  /** ISO time. The row has its own `expires_at`, and decides. */
  expiresAt: string;
  /** For the relay: somebody waits for its mail. */
  isAwaited?: boolean;
}

/** When an invite ends, and when somebody is reminded of it. ISO times; the row has its own `expires_at`, and decides. */
export interface InviteTimes {
  expiresAt: string;
  reminderAt: string | null;
}

export interface InviteExpiryInput extends InviteTimes {
  kind: 'administrator' | 'identity';
  inviteId: string;
  accountId: string;
  environmentId?: string | null;
  /** On a message of the outbox: what happened to the invite. The workflow is never started with it. */
  news?: 'accepted' | 'revoked' | 'resent';
}

export interface EmailDeliveryInput {
  emailId: string;
  /** What the mail is about, to find it by. */
  subjectId?: string;
  /** Whether somebody waits for it before a page: it is brought by a queue of its own. */
  isAwaited?: boolean;
  accountId?: string | null;
  environmentId?: string | null;
  /** Milliseconds: how long to try (24 h), the first wait between two tries (5 s), and the longest one (30 min). */
  giveUpAfterMs?: number;
  firstRetryMs?: number;
  longestRetryMs?: number;
}

export interface EnvironmentRemovalInput {
  removalId: string;
  accountId: string;
  environmentId: string;
}

export interface MfaGraceInput {
  graceId: string;
  accountId: string;
  environmentId: string;
  identityId: string;
  /** What happened to the row: of this a process that runs already is told, instead of being started. */
  news?: 'enrolled' | 'reset' | 'policyChanged';
}

export interface IdentityErasureInput {
  erasureId: string;
  accountId: string;
  identityId: string;
}

export interface RoleAssignmentWindowInput {
  assignmentId: string;
  accountId: string;
  environmentId: string;
  identityId: string;
  /** What happened to the row: of this a process that runs already is told, instead of being started. */
  news?: 'changed' | 'resumed';
}

export interface SsoDomainVerificationInput {
  claimId: string;
  accountId: string;
  environmentId: string | null;
  /** What happened to the row: of this a process that runs already is told, instead of being started. */
  news?: 'released' | 'cancelled' | 'claimed_again';
  /** Looks after which it goes on with a fresh history: one that waits is read anew before each of them. */
  looksPerHistory?: number;
}

export interface WebhookDeliveryInput {
  deliveryId: string;
  /** Of the subscription. */
  webhookId: string;
  accountId: string;
  /** Null where the subscription is the Account's. */
  environmentId: string | null;
  /** Of this a process that runs already is told, instead of being started. */
  news?: 'retryNow';
}
