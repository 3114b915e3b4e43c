import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';
import { Environment } from './environment.js';

export type WebhookStopReason = 'webhook_deleted' | 'webhook_disabled' | 'webhook_gone';

/**
 * A subscription was switched off or deleted: what waited for it then has ended, and housekeeping writes that into the deliveries,
 * of which there may be hundreds of thousands. There is one for as long as that takes.
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
  /** Without a foreign key, as the deliveries: it may be deleted. */
  @Column('uuid') webhookId!: string;
  @Column('text') reason!: WebhookStopReason;
  /** By the database's clock, as deliveries have it. */
  @Column('timestamptz') stoppedAt!: Date;
}
