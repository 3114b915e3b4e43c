import { proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { HousekeepingActivities } from '../activities/housekeeping.js';
import { heartbeatTimeout } from './heartbeat.js';

const { countEvents } = proxyActivities<HousekeepingActivities>({
  startToCloseTimeout: '10m', // after days without a worker, there is much to count
  heartbeatTimeout,
  scheduleToCloseTimeout: '30m',
  retry: { initialInterval: '1s', maximumInterval: '30s' },
});

/**
 * Counts the events since the last run, so that a request for the total of an audit log only has to count those of a
 * few minutes itself (docs/decisions/0027). A Temporal Schedule runs it.
 */
export async function eventCounting(): Promise<void> {
  setCurrentDetails('Adds the events since the last run to the counts that the totals of audit logs are made of.');
  await countEvents();
  setCurrentDetails('Counted. The next run goes on from here.');
}
