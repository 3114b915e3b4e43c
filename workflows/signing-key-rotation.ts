import { proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { SigningKeyActivities } from '../activities/signing-keys.js';
import { heartbeatTimeout } from './heartbeat.js';

const { rotateSigningKeys } = proxyActivities<SigningKeyActivities>({
  startToCloseTimeout: '1m',
  heartbeatTimeout,
  scheduleToCloseTimeout: '12h', // then the next daily run tries again
  retry: { initialInterval: '5s', maximumInterval: '10m' },
});

/** Creates the next signing key when one is due (contract §2). A Temporal Schedule runs it every day. */
export async function signingKeyRotation(): Promise<string | null> {
  setCurrentDetails(
    'Checks whether the next signing key is due. Cancelling ends this run; the next one is a day later.',
  );
  const { created } = await rotateSigningKeys();
  setCurrentDetails(created ? `Published the next signing key ${created}.` : 'No new signing key was due.');
  return created;
}
