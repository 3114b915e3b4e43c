import { proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { HousekeepingActivities } from '../activities/housekeeping.js';
import { heartbeatTimeout } from './heartbeat.js';

const { countEvents } = proxyActivities<HousekeepingActivities>({
  startToCloseTimeout: '10m', // after days without a worker there is much to count
  heartbeatTimeout,
  scheduleToCloseTimeout: '30m',
  retry: { initialInterval: '1s', maximumInterval: '30s' },
});

/**
 * Counts what has happened since the last run, so that whoever asks for the total of an audit log counts a few minutes themselves
 * (docs/decisions/0027). A Temporal Schedule runs it.
 */
export async function eventCounting(): Promise<void> {
  setCurrentDetails('Adds the events since the last run to the counts that the totals of audit logs are made of.');
  await countEvents();
  setCurrentDetails('Counted. The next run goes on from here.');
}
