import type pg from 'pg';
import { driverErrorOf, isNotificationQueueFull } from './postgres-errors.js';

/**
 * Has PostgreSQL drop the notifications that all have read, if a commit has failed because their queue is full. By itself
 * PostgreSQL does so only after a notification that was queued: it would refuse all of them for ever, also after the
 * session that kept the queue full has gone. Never throws.
 */
export async function freeNotifications(pool: pg.Pool, failure: unknown): Promise<void> {
  if (!isNotificationQueueFull(driverErrorOf(failure) ?? {})) return;
  await pool.query('select pg_notification_queue_usage()').catch(() => undefined);
}
