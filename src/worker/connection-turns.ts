import { asyncLocalStorage } from '@temporalio/activity';
import { connectionsInTurn } from '../domain/limits/connection-turns.js';
import type { Db } from '../platform/database/db.js';

/** Returns the Account whose turn in the task queue the running activity has; undefined outside of one. */
export const accountOfActivity = (): string | undefined =>
  asyncLocalStorage.getStore()?.info.priority?.fairnessKey || undefined;

/** Gives Accounts turns at a worker's connections: each activity works for the Account whose turn it has. */
export const activitiesInTurn = (db: Db): Db => connectionsInTurn(db, accountOfActivity);
