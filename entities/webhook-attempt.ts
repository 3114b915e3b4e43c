import { Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { WebhookDelivery } from './webhook-delivery.js';

/** One call of a receiver: at most one row per number, however often its activity runs. */
@Entity('webhook_attempts')
export class WebhookAttempt {
  @ForeignKey(() => WebhookDelivery, { name: 'webhook_attempts_delivery_fk', onDelete: 'CASCADE' })
  @PrimaryColumn('uuid')
  deliveryId!: string;
  /** From 1, across all runs. */
  @PrimaryColumn('integer') number!: number;
  @Column('uuid') accountId!: string;
  @Column('uuid', { nullable: true }) environmentId!: string | null;
  @Column('timestamptz') startedAt!: Date;
  /** Null while the call runs, or if its worker died. */
  @Column('integer', { nullable: true }) durationMs!: number | null;
  @Column('integer', { nullable: true }) statusCode!: number | null;
  /** Why there is no status, as a code: `timeout`, `refused`, `address`, … */
  @Column('text', { nullable: true }) error!: string | null;
  /** The first KiB of the answer; only from public addresses (contract §10). */
  @Column('text', { nullable: true }) responseExcerpt!: string | null;
}
