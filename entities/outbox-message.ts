import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** The three lanes (src/temporal/outbox-claims.ts). */
const awaited = `process = 'registrationVerification' or input ? 'isAwaited'`;
const others = `process <> 'webhookDelivery' and not (${awaited})`;
const webhooks = `process = 'webhookDelivery'`;

/** A workflow that a committed change needs; the relay starts it and removes the row. */
@Entity('outbox')
@Index('outbox_due_others', ['dueAt', 'id'], { where: others })
@Index('outbox_due_awaited', ['dueAt', 'id'], { where: awaited })
@Index('outbox_due_webhooks', ['dueAt', 'id'], { where: webhooks })
@Index('outbox_turns_others', ['accountId', 'dueAt', 'id'], { where: others })
@Index('outbox_turns_awaited', ['accountId', 'dueAt', 'id'], { where: awaited })
@Index('outbox_turns_webhooks', ['accountId', 'dueAt', 'id'], { where: webhooks })
export class OutboxMessage {
  @PrimaryColumn('uuid') id!: string;
  @Column('text') process!: string;
  /** Ids and times only: it becomes the workflow's input, which anyone with the Temporal UI can read. */
  @Column('jsonb') input!: object;
  /** Whose turn it waits for; all ones for nobody's. */
  @Column('uuid', { default: 'ffffffff-ffff-ffff-ffff-ffffffffffff' }) accountId!: string;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') dueAt!: Date;
  @Column('integer') attempts!: number;
  @Column('text', { nullable: true }) lastError!: string | null;
  /** The trace of the change, as W3C Trace Context writes it, where traces are kept. */
  @Column('text', { nullable: true }) traceparent!: string | null;
}
