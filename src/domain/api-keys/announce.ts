import type { EntityManager } from 'typeorm';

/** The channel that tells every api process to forget the API keys that it has cached. */
export const apiKeysChannel = 'gatehouse_api_keys';

/** Notifies them when the caller's transaction commits. Call it if keys were changed, or deleted with their owner. */
export const announceApiKeys = async (tx: EntityManager): Promise<void> => {
  await tx.query(`select pg_notify($1, '')`, [apiKeysChannel]);
};
