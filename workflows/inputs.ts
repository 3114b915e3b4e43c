// The inputs of the workflows: ids and times only, since histories are stored and many may read them.

export interface RegistrationVerificationInput {
  pendingRegistrationId: string;
  /** ISO times. The row has its own `expires_at`, and decides. */
  expiresAt: string;
  reminderAt: string | null;
  /** On a message of the outbox for a running process: its row has ended. */
  news?: 'discarded';
}

export interface AccountIntentInput {
  intentId: string;
  /** ISO time. The row has its own `expires_at`, and decides. */
  expiresAt: string;
  /** For the relay: somebody is waiting for its mail. */
  isAwaited?: boolean;
}

export interface EmailChangeInput {
  changeId: string;
  /** ISO time. The row has its own `expires_at`, and decides. */
  expiresAt: string;
  /** On a message of the outbox for a running process: its row has ended. */
  news?: 'ended';
}

/** When an invite expires, and when a reminder is sent. ISO times; the row has its own `expires_at`, and decides. */
export interface InviteTimes {
  expiresAt: string;
  reminderAt: string | null;
}

export interface InviteExpiryInput extends InviteTimes {
  kind: 'administrator' | 'identity';
  inviteId: string;
  accountId: string;
  environmentId?: string | null;
  /** On a message of the outbox: what happened to the invite. No workflow is started with it. */
  news?: 'accepted' | 'revoked' | 'resent';
}

export interface EmailDeliveryInput {
  emailId: string;
  /** What the mail is about, for finding it. */
  subjectId?: string;
  /** Whether somebody is waiting for it at a page: such mails have their own queue. */
  isAwaited?: boolean;
  accountId?: string | null;
  environmentId?: string | null;
  /** Milliseconds: how long to try (24 h), the first wait between two tries (5 s), and the longest one (30 min). */
  giveUpAfterMs?: number;
  firstRetryMs?: number;
  longestRetryMs?: number;
  /** On a message of the outbox: a failed mail is to be sent again. A process that runs already is signalled this. */
  news?: 'retried';
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
  /** What happened to the row. A process that runs already is signalled this, and not started. */
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
  /** What happened to the row. A process that runs already is signalled this, and not started. */
  news?: 'changed' | 'resumed';
}

export interface SsoDomainVerificationInput {
  claimId: string;
  accountId: string;
  environmentId: string | null;
  /** What happened to the row. A process that runs already is signalled this, and not started. */
  news?: 'released' | 'cancelled' | 'claimed_again';
  /** Looks after which it continues as new: before each look, a waiting workflow's history is replayed. */
  looksPerHistory?: number;
}

export interface WebhookDeliveryInput {
  deliveryId: string;
  /** The id of the subscription, or of the client that receives a logout token. */
  webhookId: string;
  /** Set if the receiver is a client. */
  receiver?: 'client';
  accountId: string;
  /** Null if the subscription belongs to the Account. */
  environmentId: string | null;
  /** A process that runs already is signalled this, and not started. */
  news?: 'retryNow';
}
