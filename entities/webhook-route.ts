import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Webhook } from './webhook.js';

/**
 * A type that an active subscription wants, `*` for all; there are none of one that is switched off. With the scope's id in
 * front, whether anybody wants an event is one look into an index, which every event can afford.
 */
@Entity('webhook_routes')
@Index('webhook_routes_webhook', ['webhookId'])
export class WebhookRoute {
  /** Of the Environment, or of the Account where the subscription is the Account's. */
  @PrimaryColumn('uuid') scopeId!: string;
  @PrimaryColumn('text') eventType!: string;
  @ForeignKey(() => Webhook, { name: 'webhook_routes_webhook_fk', onDelete: 'CASCADE' })
  @PrimaryColumn('uuid')
  webhookId!: string;
  @Column('uuid') accountId!: string;
}
