import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Webhook } from './webhook.js';

/**
 * An event type that an active subscription wants, `*` for all; a subscription that is switched off has none. The
 * scope's id comes first, so one index look-up, cheap enough for every event, says whether anybody wants it.
 */
@Entity('webhook_routes')
@Index('webhook_routes_webhook', ['webhookId'])
export class WebhookRoute {
  /** The id of the Environment, or of the Account if the subscription is the Account's. */
  @PrimaryColumn('uuid') scopeId!: string;
  @PrimaryColumn('text') eventType!: string;
  @ForeignKey(() => Webhook, { name: 'webhook_routes_webhook_fk', onDelete: 'CASCADE' })
  @PrimaryColumn('uuid')
  webhookId!: string;
  @Column('uuid') accountId!: string;
}
