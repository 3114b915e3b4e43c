import { asyncLocalStorage } from '@temporalio/activity';
import { connectionsInTurn } from '../domain/limits/connection-turns.js';
import { isInNoShare } from '../platform/context.js';
import type { Db } from '../platform/database/db.js';

/**
 * Returns the Account whose turn in the task queue the running activity has; undefined outside of one, and for what
 * activities of several Accounts wait for, such as the look at the signing keys.
 */
export const accountOfActivity = (): string | undefined =>
  isInNoShare() ? undefined : asyncLocalStorage.getStore()?.info.priority?.fairnessKey || undefined;

/**
 * Gives Accounts turns at a worker's connections: each activity works for the Account whose turn it has. Any number of
 * them may wait, since a task queue bounds how many run. An activity that was refused would be repeated, with the call of
 * a webhook whose result it was about to store.
 */
export const activitiesInTurn = (db: Db): Db => connectionsInTurn(db, accountOfActivity, Number.POSITIVE_INFINITY);
