import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';

export type ActorType = 'platform_admin' | 'identity' | 'api_key' | 'scim_token' | 'system' | 'anonymous';

/**
 * Something that happened: the single row behind the change feed, the webhooks and the audit log. Append-only: the
 * service's role can neither update nor delete it. It holds ids and no personal data. The table has one partition per
 * month (docs/decisions/0027).
 */
@Entity('events')
@Index('events_feed_order', ['environmentId', 'transactionId', 'createdAt', 'id'], { where: 'is_domain_event' })
@Index('events_account', ['accountId', 'createdAt', 'id'])
@Index('events_environment', ['environmentId', 'createdAt', 'id'])
@Index('events_actor', ['actorId', 'createdAt'], { where: 'actor_id is not null' })
@Index('events_resource', ['resourceId', 'createdAt'], { where: 'resource_id is not null' })
@Index('events_correlation', ['correlationId'])
@Index('events_created', { synchronize: false })
@Check('events_outcome', `outcome in ('success', 'failure', 'denied')`)
@Check(
  'events_category',
  `category in ('auth', 'identity', 'access', 'structure', 'configuration', 'integration', 'security')`,
)
@Check('events_severity', `severity in ('info', 'notice', 'warning', 'critical')`)
export class Event {
  @PrimaryColumn('uuid') id!: string;
  /**
   * Its place in the change feed: the latest transaction that had ended when it was written, or its own if that is
   * later. The events that a reader sees below the oldest running transaction are complete.
   */
  @Column('bigint') transactionId!: string;
  /** Its own transaction. Null: `transactionId`, as a release without this column wrote it. */
  @Column('bigint', { nullable: true }) writtenIn!: string | null;
  @Column('uuid', { nullable: true }) accountId!: string | null;
  @Column('uuid', { nullable: true }) applicationId!: string | null;
  @Column('uuid', { nullable: true }) environmentId!: string | null;
  @Column('text') actorType!: ActorType;
  @Column('text', { nullable: true }) actorId!: string | null;
  /** The name of an API key. A person's name is looked up when the row is read, and disappears when they are erased. */
  @Column('text', { nullable: true }) actorLabel!: string | null;
  @Column('text') action!: string;
  @Column('text') resourceType!: string;
  @Column('text', { nullable: true }) resourceId!: string | null;
  /** Its name at that time; null for people, as above. */
  @Column('text', { nullable: true }) resourceLabel!: string | null;
  @Column('jsonb') metadata!: object;
  @Column('text') outcome!: 'success' | 'failure' | 'denied';
  @Column('text') category!: string;
  @Column('text') severity!: string;
  @Column('uuid') correlationId!: string;
  /** The trace to which the event belongs (W3C Trace Context), if traces are on. */
  @Column('text', { nullable: true }) traceparent!: string | null;
  /** False for events that only the audit log reports, such as a failed sign-in. */
  @Column('boolean') isDomainEvent!: boolean;
  @Column('boolean') customerVisible!: boolean;
  @Column('boolean') identityVisible!: boolean;
  @PrimaryColumn('timestamptz') createdAt!: Date;
}
