import type { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { Webhook } from '../../../entities/webhook.js';
import { after, type Clock, hours } from '../../platform/clock.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import type { Db } from '../../platform/database/db.js';
import type { Guard } from '../../platform/outbound/guard.js';
import { changedFields } from '../changed-fields.js';
import { recordEvent } from '../events/record.js';
import { assertWithinQuota } from '../limits/quota.js';
import { containing, type Page, type PageRequest, readPage } from '../lists/paging.js';
import { findWebhook, lockOwner, ownOf, type WebhookScope } from './find.js';
import { writeRoutes } from './routes.js';
import { assertEventTypes, assertReceiver } from './rules.js';
import { newWebhookSecret, webhookSecretContext } from './secrets.js';
import { stopWaiting } from './stops.js';

export type WebhookSettings = Pick<Webhook, 'url' | 'eventTypes' | 'description' | 'isActive'>;
export interface WebhookWithSecret {
  webhook: Webhook;
  /** Returned once, and never shown again. */
  secret: string;
}

/** How many subscriptions an Environment, or an Account itself, can have. */
const maxWebhooks = 1_000;
/** How long the previous secret also signs after a rotation (contract §7). */
const overlapMs = hours(24);

export interface WebhooksDeps {
  db: Db;
  sealing: Pick<Sealing, 'seal'>;
  guard: Pick<Guard, 'enter'>;
  now: Clock;
}

export type Webhooks = ReturnType<typeof createWebhooks>;

const columns = { created_at: ['webhook.createdAt', 'webhook.id'], url: ['webhook.url', 'webhook.id'] };

/** Manages subscriptions to events, those of an Environment and those of an Account itself. */
export function createWebhooks({ db, sealing, guard, now }: WebhooksDeps) {
  function assertSettings(scope: WebhookScope, { url, eventTypes }: Partial<WebhookSettings>): void {
    if (url !== undefined) assertReceiver(url, guard);
    if (eventTypes !== undefined) assertEventTypes(scope, eventTypes);
  }
  const newSecret = (id: string) => {
    const secret = newWebhookSecret();
    return { secret, sealed: sealing.seal(secret, webhookSecretContext(id)) };
  };
  const find = (scope: WebhookScope, id: string) => db.transaction(scope, (tx) => findWebhook(tx, scope, id));

  return {
    /** `q` searches URL and description. */
    list: (scope: WebhookScope, page: PageRequest<'created_at' | 'url'>): Promise<Page<Webhook>> =>
      db.transaction(scope, (tx) => {
        const query = tx.createQueryBuilder(Webhook, 'webhook').where(ownOf(scope));
        const pattern = page.q && containing(page.q);
        if (pattern) query.andWhere('(webhook.url ilike :pattern or webhook.description ilike :pattern)', { pattern });
        return readPage(query, page, columns[page.sortBy]);
      }),

    /** @param q a part of the URL */
    summary: (scope: WebhookScope, q?: string): Promise<{ active: number; inactive: number }> =>
      db.transaction(scope, async (tx) => {
        const query = tx
          .createQueryBuilder(Webhook, 'webhook')
          .select('count(*) filter (where webhook.is_active)::int', 'active')
          .addSelect('count(*) filter (where not webhook.is_active)::int', 'inactive')
          .where(ownOf(scope));
        if (q) query.andWhere('webhook.url ilike :pattern', { pattern: containing(q) });
        return (await query.getRawOne<{ active: number; inactive: number }>()) ?? { active: 0, inactive: 0 };
      }),

    /** @throws DomainError webhook.not_found */
    get: find,

    /** @throws DomainError validation.failed, webhook.limit_reached */
    async create(scope: WebhookScope, settings: WebhookSettings): Promise<WebhookWithSecret> {
      assertSettings(scope, settings);
      const id = uuidv7();
      const at = now();
      const { secret, sealed } = newSecret(id);
      const { accountId, applicationId = null, environmentId = null } = scope;
      const webhook: Webhook = {
        id,
        accountId,
        applicationId,
        environmentId,
        ...settings,
        secret: sealed,
        createdAt: at,
        updatedAt: at,
        disabledReason: null,
        previousSecret: null,
        previousSecretUntil: null,
        failingSince: null,
      };
      await db.transaction(scope, async (tx) => {
        await lockOwner(tx, scope);
        await roomFor(tx, scope);
        await tx.insert(Webhook, webhook);
        await writeRoutes(tx, webhook);
        const { eventTypes, isActive } = webhook;
        await record(tx, 'webhook.created', webhook, { event_types: eventTypes, is_active: isActive });
      });
      return { webhook, secret };
    },

    /**
     * Changes a subscription. Switching it off ends its pending deliveries; switching it on, or changing the URL,
     * resets since when it has been failing.
     * @throws DomainError webhook.not_found, validation.failed
     */
    async update(scope: WebhookScope, id: string, changes: Partial<WebhookSettings>): Promise<Webhook> {
      return db.transaction(scope, async (tx) => {
        await lockOwner(tx, scope);
        const current = await findWebhook(tx, scope, id, { lock: true });
        assertSettings(scope, changes);
        const fields = changedFields(current, changes);
        if (fields.length === 0) return current;
        const at = now();
        const isSwitchedOn = changes.isActive === true && !current.isActive;
        // The failures of the previous receiver do not count against another one.
        const isElsewhere = changes.url !== undefined && changes.url !== current.url;
        const changed = {
          ...changes,
          ...(isSwitchedOn && { disabledReason: null }),
          ...((isSwitchedOn || isElsewhere) && { failingSince: null }),
          updatedAt: at,
        };
        await tx.update(Webhook, { ...ownOf(scope), id }, changed);
        const webhook: Webhook = { ...current, ...changed };
        await writeRoutes(tx, webhook);
        if (current.isActive && !webhook.isActive) await stopWaiting(tx, webhook, 'webhook_disabled');
        await record(tx, 'webhook.updated', webhook, { changed: fields, is_active: webhook.isActive });
        return webhook;
      });
    },

    /** Creates a new secret; the old one also signs for another day. @throws DomainError webhook.not_found */
    async rotateSecret(scope: WebhookScope, id: string): Promise<WebhookWithSecret> {
      const { secret, sealed } = newSecret(id);
      return db.transaction(scope, async (tx) => {
        const current = await findWebhook(tx, scope, id, { lock: true });
        const at = now();
        const changed = {
          secret: sealed,
          previousSecret: current.secret,
          previousSecretUntil: after(at, overlapMs),
          updatedAt: at,
        };
        await tx.update(Webhook, { ...ownOf(scope), id }, changed);
        await record(tx, 'webhook.updated', current, { changed: ['secret'], is_active: current.isActive });
        return { webhook: { ...current, ...changed }, secret };
      });
    },

    /** Deletes a subscription and ends its pending deliveries. @throws DomainError webhook.not_found */
    async remove(scope: WebhookScope, id: string): Promise<void> {
      await db.transaction(scope, async (tx) => {
        await lockOwner(tx, scope);
        const webhook = await findWebhook(tx, scope, id, { lock: true });
        await stopWaiting(tx, webhook, 'webhook_deleted');
        await tx.delete(Webhook, { ...ownOf(scope), id });
        await record(tx, 'webhook.deleted', webhook, {});
      });
    },
  };
}

type Recorded = 'webhook.created' | 'webhook.updated' | 'webhook.deleted';

const record = (tx: EntityManager, action: Recorded, webhook: Webhook, metadata: Record<string, unknown>) =>
  recordEvent(tx, action, {
    accountId: webhook.accountId,
    applicationId: webhook.applicationId,
    environmentId: webhook.environmentId,
    resourceId: webhook.id,
    metadata,
  });

const roomFor = (tx: EntityManager, scope: WebhookScope) =>
  assertWithinQuota(tx, {
    of: `webhooks of ${scope.environmentId ?? scope.accountId}`,
    max: maxWebhooks,
    count: () => tx.countBy(Webhook, ownOf(scope)),
    code: 'webhook.limit_reached',
  });
