import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

const awaited = `process = 'registrationVerification' or input ? 'isAwaited'`;
/** Lanes whose messages do not wait for each other, each with an index by age and one by Account, for their turns. */
export const outboxLanes = {
  awaited: `(${awaited})`,
  others: `process <> 'webhookDelivery' and not (${awaited})`,
  webhooks: `process = 'webhookDelivery'`,
};
/** Stands for the Account's id in messages without an Account. */
export const noAccount = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** A workflow that a committed change needs; the relay starts it and deletes the row. */
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
  /** Only ids and times: it becomes the workflow's input, which everybody with access to the Temporal UI can read. */
  @Column('jsonb') input!: object;
  /** The Account in whose turn it is started. */
  @Column('uuid', { default: noAccount }) accountId!: string;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') dueAt!: Date;
  @Column('integer') attempts!: number;
  @Column('text', { nullable: true }) lastError!: string | null;
  /** The trace of the change (W3C Trace Context), if traces are on. */
  @Column('text', { nullable: true }) traceparent!: string | null;
}
