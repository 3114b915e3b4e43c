import { createProcesses } from '../../src/temporal/processes.js';
import { activitiesInTurn } from '../../src/worker/connection-turns.js';
import { workerBounds } from '../../src/worker/database-bounds.js';
import { newDatabase, openTestDb, rowsAsOwner } from './database.js';
import { patient } from './patience.js';
import { registrationServices } from './registration.js';
import { namespace, startTestTemporal } from './temporal.js';
import { startWorkerParts } from './test-worker.js';
import { until } from './until.js';

export type InviteProcesses = Awaited<ReturnType<typeof startInviteProcesses>>;

/**
 * Starts what runs the processes of administrators' or end users' invites: database, Temporal and worker.
 * @param bounded gives the worker as many connections as a real one has, with the same time limits and turns
 */
export async function startInviteProcesses({ bounded = false }: { bounded?: boolean } = {}) {
  const [temporal, database] = await Promise.all([startTestTemporal(), newDatabase()]);
  const open = async () => activitiesInTurn(await openTestDb(database.url, 10, workerBounds));
  const ofWorker = bounded ? { ...database, db: await open() } : database;
  const processes = createProcesses({ address: temporal.address, namespace, apiKey: null }, patient);
  const services = registrationServices(ofWorker);
  const worker = startWorkerParts({ database: ofWorker, temporal, processes }, services);
  const handleOf = (id: string) => temporal.client.workflow.getHandle(`invite/${id}`);
  const mailsTo = (email: string, name: string) =>
    services.sent.filter((mail) => mail.to === email && mail.name === name);
  return {
    temporal,
    database,
    services,
    handleOf,
    /** Waits until the invite's process reports this state. */
    reaches: (id: string, state: string) =>
      until(`the invite is ${state}`, async () => {
        const found = await handleOf(id)
          .query<string>('state')
          .catch(() => undefined); // not started yet, or its worker is still busy
        return found === state;
      }),
    mailsTo,
    /** Waits for `count` mails of one template to an address; returns the last of them. */
    mailTo: (email: string, name: string, count = 1) =>
      until(`${name} is mailed ${count} times`, async () => mailsTo(email, name)[count - 1]),
    /** Waits until no message is on its way to a process. */
    delivered: () =>
      until(
        'the outbox is empty',
        async () => (await rowsAsOwner(database.ownerUrl, 'select from outbox')).length === 0,
      ),
    async stop(): Promise<void> {
      await worker.stop();
      await processes.close();
      await temporal.stop();
      if (bounded) await ofWorker.db.close();
      await database.close();
    },
  };
}
