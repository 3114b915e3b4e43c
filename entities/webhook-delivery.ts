import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';
import { Environment } from './environment.js';

export const webhookDeliveryStatuses = ['pending', 'succeeded', 'failed', 'cancelled'] as const;
/** The event type of deliveries of logout tokens; no subscription can name it. */
export const logoutEventType = 'backchannel_logout';
export type WebhookDeliveryStatus = (typeof webhookDeliveryStatuses)[number];

/**
 * One event on its way to one subscription. Its id is the `webhook-id` of every attempt, manual ones included. A logout
 * token on its way to a client is such a row as well, with `logoutEventType` (docs/decisions/0110).
 */
@Entity('webhook_deliveries')
@Index('webhook_deliveries_by_age', ['webhookId', 'createdAt', 'id'])
@Index('webhook_deliveries_account', ['accountId', 'createdAt', 'id'])
@Index('webhook_deliveries_environment', ['environmentId'], { where: 'environment_id is not null' })
@Index('webhook_deliveries_open', ['id'], { where: `status = 'pending'` })
@Index('webhook_deliveries_not_taken', { synchronize: false })
@Index('webhook_deliveries_unsuccessful', { synchronize: false })
@Index('webhook_deliveries_settled', ['settledAt'], { where: 'settled_at is not null' })
@Check('webhook_deliveries_status', `status in ('pending', 'succeeded', 'failed', 'cancelled')`)
@Check('webhook_deliveries_ended', `(status = 'pending') = (settled_at is null)`)
export class WebhookDelivery {
  @PrimaryColumn('uuid') id!: string;
  @ForeignKey(() => Account, { name: 'webhook_deliveries_account_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  accountId!: string;
  /** The subscription's Environment; null if the subscription is the Account's. */
  @ForeignKey(() => Environment, { name: 'webhook_deliveries_environment_fk', onDelete: 'CASCADE' })
  @Column('uuid', { nullable: true })
  environmentId!: string | null;
  /**
   * The subscription, or the client that receives a logout token. No foreign key: either is deleted without a month of
   * its deliveries, which housekeeping deletes.
   */
  @Column('uuid') webhookId!: string;
  @Column('uuid') eventId!: string;
  @Column('text') eventType!: string;
  /**
   * The exact bytes of the JSON that is sent: they are signed, and the same at every attempt. For a logout token, the
   * `sub` and `sid` that it names: the token itself is signed anew for each attempt.
   */
  @Column('text') body!: string;
  @Column('text') status!: WebhookDeliveryStatus;
  /**
   * Why it failed or was cancelled: `attempts_exhausted`, `webhook_gone`, `webhook_disabled`, `cancelled_by_operator`…
   */
  @Column('text', { nullable: true }) endedReason!: string | null;
  /** Across all runs of its process. */
  @Column('integer') attemptCount!: number;
  /** When the next attempt is due; null once it has ended, and until the process has set it. */
  @Column('timestamptz', { nullable: true }) nextAttemptAt!: Date | null;
  @Column('timestamptz') createdAt!: Date;
  /** When somebody had it retried: an earlier stop no longer applies (`WebhookStop`). */
  @Column('timestamptz', { nullable: true }) retriedAt!: Date | null;
  /** When it ended, whatever its status. */
  @Column('timestamptz', { nullable: true }) settledAt!: Date | null;
}
