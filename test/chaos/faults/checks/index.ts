import type { createFeedReader } from '../load/feed.js';
import type { World } from '../world.js';
import { acknowledgedIsThere } from './acknowledged.js';
import { eventsAreOnce } from './events.js';
import type { Looked } from './looked.js';
import { messagesAreOnce } from './messages.js';
import { processesAreOver } from './processes.js';
import { requestsWereAnswered } from './requests.js';
import { rowsAgree } from './rows.js';

/** Checks everything that must be true once the service has recovered; records what is not as a finding. */
export async function checkAll(world: World, feed: ReturnType<typeof createFeedReader>): Promise<Looked> {
  return [
    ...requestsWereAnswered(world),
    ...(await processesAreOver(world)),
    ...(await acknowledgedIsThere(world)),
    ...(await eventsAreOnce(world, feed)),
    ...(await messagesAreOnce(world)),
    ...(await rowsAgree(world)),
  ];
}
