import { Column, Entity, PrimaryColumn } from 'typeorm';

/** An event with a subscriber, until its deliveries are written (docs/decisions/0028). */
@Entity('webhook_queue')
export class WebhookQueue {
  @PrimaryColumn('bigint', { generated: 'identity' }) id!: string;
  @Column('uuid') eventId!: string;
  /** The event's time: with its id, the key of the partitioned table. */
  @Column('timestamptz') eventCreatedAt!: Date;
}
