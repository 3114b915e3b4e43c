import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/**
 * An event type that an active subscription wants, `*` for all; a subscription that is switched off has none. A client
 * that receives logout tokens has routes for the events that name ended sessions. The scope's id comes first, so one
 * index look-up, cheap enough for every event, says whether anybody wants it.
 */
@Entity('webhook_routes')
@Index('webhook_routes_webhook', ['webhookId'])
export class WebhookRoute {
  /** The id of the Environment, or of the Account if the subscription is the Account's. */
  @PrimaryColumn('uuid') scopeId!: string;
  @PrimaryColumn('text') eventType!: string;
  /** The subscription, or the client. A trigger of either table deletes its routes with it. */
  @PrimaryColumn('uuid') webhookId!: string;
  @Column('uuid') accountId!: string;
}
