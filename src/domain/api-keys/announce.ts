import type { EntityManager } from 'typeorm';

/** On which every api process hears that what it keeps of API keys is old. */
export const apiKeysChannel = 'gatehouse_api_keys';

/** Tells them so with the commit of the caller's transaction: keys were changed, or went with what they belonged to. */
export const announceApiKeys = async (tx: EntityManager): Promise<void> => {
  await tx.query(`select pg_notify($1, '')`, [apiKeysChannel]);
};
