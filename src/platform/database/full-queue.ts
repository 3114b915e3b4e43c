import type pg from 'pg';
import { driverErrorOf, isNotificationQueueFull } from './postgres-errors.js';

/**
 * Has PostgreSQL drop the notifications that all sessions have read, if a commit has failed because their queue is full.
 * PostgreSQL does so by itself only after it has queued another one: with a full queue it would refuse them for ever, also
 * after the session that kept the queue full has gone. Never throws.
 */
export async function freeNotifications(pool: pg.Pool, failure: unknown): Promise<void> {
  if (!isNotificationQueueFull(driverErrorOf(failure) ?? {})) return;
  await pool.query('select pg_notification_queue_usage()').catch(() => undefined);
}
