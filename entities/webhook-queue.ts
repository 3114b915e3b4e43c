import { Column, Entity, PrimaryColumn } from 'typeorm';

/** An event that somebody subscribes to, until its deliveries are written (docs/decisions/0028). */
@Entity('webhook_queue')
export class WebhookQueue {
  @PrimaryColumn('bigint', { generated: 'identity' }) id!: string;
  @Column('uuid') eventId!: string;
  /** Of the event: with its id, the key of the partitioned table. */
  @Column('timestamptz') eventCreatedAt!: Date;
}
