import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** A workflow that a committed change needs; the relay starts it and removes the row. */
@Entity('outbox')
@Index('outbox_due_others', ['dueAt', 'id'], {
  where: `process <> 'webhookDelivery' and not (process = 'registrationVerification' or input ? 'isAwaited')`,
})
@Index('outbox_due_awaited', ['dueAt', 'id'], { where: `process = 'registrationVerification' or input ? 'isAwaited'` })
@Index('outbox_due_webhooks', ['dueAt', 'id'], { where: `process = 'webhookDelivery'` })
export class OutboxMessage {
  @PrimaryColumn('uuid') id!: string;
  @Column('text') process!: string;
  /** Ids and times only: it becomes the workflow's input, which anyone with the Temporal UI can read. */
  @Column('jsonb') input!: object;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') dueAt!: Date;
  @Column('integer') attempts!: number;
  @Column('text', { nullable: true }) lastError!: string | null;
  /** The trace of the change, as W3C Trace Context writes it, where traces are kept. */
  @Column('text', { nullable: true }) traceparent!: string | null;
}
