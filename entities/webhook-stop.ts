import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';
import { Environment } from './environment.js';

export type WebhookStopReason = 'webhook_deleted' | 'webhook_disabled' | 'webhook_gone';

/**
 * Records that a subscription was switched off or deleted: the deliveries that waited then have ended. Housekeeping
 * writes that into them, possibly hundreds of thousands, and then deletes this row.
 */
@Entity('webhook_stops')
@Index('webhook_stops_webhook', ['webhookId', 'stoppedAt'])
@Index('webhook_stops_account', ['accountId'])
@Index('webhook_stops_environment', ['environmentId'], { where: 'environment_id is not null' })
@Check('webhook_stops_reason', `reason in ('webhook_deleted', 'webhook_disabled', 'webhook_gone')`)
export class WebhookStop {
  @PrimaryColumn('uuid') id!: string;
  @ForeignKey(() => Account, { name: 'webhook_stops_account_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  accountId!: string;
  @ForeignKey(() => Environment, { name: 'webhook_stops_environment_fk', onDelete: 'CASCADE' })
  @Column('uuid', { nullable: true })
  environmentId!: string | null;
  /** No foreign key, like the deliveries: the subscription may be deleted. */
  @Column('uuid') webhookId!: string;
  @Column('text') reason!: WebhookStopReason;
  /** By the database's clock, like the deliveries' times. */
  @Column('timestamptz') stoppedAt!: Date;
}
