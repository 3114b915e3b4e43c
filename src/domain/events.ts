import type { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { type Actor, currentContext } from '../platform/context.js';
import { type EventAction, type EventKind, eventCatalogue } from './event-catalogue.js';

export interface EventDetails {
  accountId?: string | null;
  applicationId?: string | null;
  environmentId?: string | null;
  resourceId: string | null;
  /** What changed, in ids, names of fields and plain settings. Never a secret, and no personal data. */
  metadata?: Record<string, unknown>;
  outcome?: 'success' | 'failure' | 'denied';
  /** Whose doing it was, where that is not the caller of the running request. */
  actor?: Actor;
}

const insert = `
insert into events (id, transaction_id, account_id, application_id, environment_id, actor_type, actor_id, action, resource_type,
  resource_id, metadata, outcome, category, severity, correlation_id, is_domain_event, customer_visible, identity_visible, created_at)
values ($1, pg_current_xact_id()::text::bigint, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, clock_timestamp())`;

/**
 * Writes what happened, in the transaction of the change itself. The change feed, the webhooks and the audit log all read
 * this row (contract §7).
 */
export async function recordEvent(tx: EntityManager, action: EventAction, details: EventDetails): Promise<void> {
  const { correlationId, actor: caller } = currentContext();
  const actor = details.actor ?? caller;
  const entry: EventKind = eventCatalogue[action];
  const outcome = details.outcome ?? 'success';
  await tx.query(insert, [
    uuidv7(),
    details.accountId ?? null,
    details.applicationId ?? null,
    details.environmentId ?? null,
    actor.type,
    actor.id,
    action,
    entry.resource,
    details.resourceId,
    details.metadata ?? {},
    outcome,
    entry.category,
    outcome === 'success' ? (entry.severity ?? 'info') : 'warning',
    correlationId,
    entry.domainEvent ?? true,
    details.accountId != null,
    entry.identityVisible ?? false,
  ]);
}
