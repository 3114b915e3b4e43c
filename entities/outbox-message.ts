import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

const awaited = `process = 'registrationVerification' or input ? 'isAwaited'`;
/** Whose messages do not wait behind which others, each with an index of the oldest and one of the Accounts' turns. */
export const outboxLanes = {
  awaited: `(${awaited})`,
  others: `process <> 'webhookDelivery' and not (${awaited})`,
  webhooks: `process = 'webhookDelivery'`,
};
/** In the place of an Account's id, for messages of none. */
export const noAccount = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** A workflow that a committed change needs; the relay starts it and removes the row. */
@Entity('outbox')
@Index('outbox_due_others', ['dueAt', 'id'], { where: outboxLanes.others })
@Index('outbox_due_awaited', ['dueAt', 'id'], { where: outboxLanes.awaited })
@Index('outbox_due_webhooks', ['dueAt', 'id'], { where: outboxLanes.webhooks })
@Index('outbox_turns_others', ['accountId', 'dueAt', 'id'], { where: outboxLanes.others })
@Index('outbox_turns_awaited', ['accountId', 'dueAt', 'id'], { where: outboxLanes.awaited })
@Index('outbox_turns_webhooks', ['accountId', 'dueAt', 'id'], { where: outboxLanes.webhooks })
export class OutboxMessage {
  @PrimaryColumn('uuid') id!: string;
  @Column('text') process!: string;
  /** Ids and times only: it becomes the workflow's input, which anyone with the Temporal UI can read. */
  @Column('jsonb') input!: object;
  /** Whose turn it waits for. */
  @Column('uuid', { default: noAccount }) accountId!: string;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') dueAt!: Date;
  @Column('integer') attempts!: number;
  @Column('text', { nullable: true }) lastError!: string | null;
  /** The trace of the change, as W3C Trace Context writes it, where traces are kept. */
  @Column('text', { nullable: true }) traceparent!: string | null;
}
