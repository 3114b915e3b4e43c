import { startApi, type TestApi } from './api.js';
import { startTestTemporal } from './temporal.js';

/** Starts the whole api beside a Temporal server, but no relay and no worker: no process ever runs. */
export async function startApiBesideTemporal(env: Record<string, string> = {}): Promise<TestApi> {
  const temporal = await startTestTemporal();
  const api = await startApi({ TEMPORAL_ADDRESS: temporal.address, ...env });
  return {
    ...api,
    async stop() {
      await api.stop();
      await temporal.stop();
    },
  };
}
