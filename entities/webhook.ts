import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';
import { Application } from './application.js';
import { Environment } from './environment.js';

/** Why the service itself switched a subscription off: its receiver answered 410, or only failed for days. */
export type WebhookDisabledReason = 'gone' | 'failing';

/** A subscription to the events of an Environment, or of the whole Account. */
@Entity('webhooks')
@Index('webhooks_by_age', ['environmentId', 'createdAt', 'id'])
@Index('webhooks_account', ['accountId', 'createdAt', 'id'])
@Index('webhooks_application', ['applicationId'])
@Check('webhooks_scope', '(application_id is null) = (environment_id is null)')
@Check(
  'webhooks_disabled_reason',
  `disabled_reason is null or disabled_reason in ('gone', 'failing') and not is_active`,
)
@Check('webhooks_previous_secret', '(previous_secret is null) = (previous_secret_until is null)')
export class Webhook {
  @PrimaryColumn('uuid') id!: string;
  @ForeignKey(() => Account, { name: 'webhooks_account_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  accountId!: string;
  /** Null, like the Environment, for a subscription of the Account. */
  @ForeignKey(() => Application, { name: 'webhooks_application_fk', onDelete: 'CASCADE' })
  @Column('uuid', { nullable: true })
  applicationId!: string | null;
  @ForeignKey(() => Environment, { name: 'webhooks_environment_fk', onDelete: 'CASCADE' })
  @Column('uuid', { nullable: true })
  environmentId!: string | null;
  @Column('text') url!: string;
  @Column('text', { nullable: true }) description!: string | null;
  /** Event types, or `*` alone. */
  @Column('text', { array: true }) eventTypes!: string[];
  @Column('boolean') isActive!: boolean;
  /** Null while active, or if a person switched it off. */
  @Column('text', { nullable: true }) disabledReason!: WebhookDisabledReason | null;
  /** Sealed: `whsec_` and 32 bytes in base64 (Standard Webhooks). */
  @Column('text') secret!: string;
  /** Sealed; the secret from before the last rotation, and until when it signs in addition to the new one. */
  @Column('text', { nullable: true }) previousSecret!: string | null;
  @Column('timestamptz', { nullable: true }) previousSecretUntil!: Date | null;
  /** When the current series of failures began; null if the last attempt succeeded, or none was made. */
  @Column('timestamptz', { nullable: true }) failingSince!: Date | null;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') updatedAt!: Date;
}
