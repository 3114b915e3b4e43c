import { Client, Connection } from '@temporalio/client';
import { until } from '../../support/until.js';
import { newKey } from '../faults/client.js';
import { confirmLink } from '../faults/confirm.js';
import { linkTokenIn } from '../faults/mails.js';
import { isStatus, viaApi, type World } from '../faults/world.js';
import type { Version } from './versions.js';

interface Begun {
  person: { email: string; password: string };
  token: string;
  inviteId: string | null;
}

/** Registrations and invites that begin in one phase of an upgrade and end in a later one. */
export function createCrossings(world: World) {
  const { client, ledger, mails } = world;
  let count = 0;

  return {
    /** Registers a person up to their mail, and invites another. */
    async begin(): Promise<Begun | null> {
      const n = ++count;
      const person = { email: `crossing-${n}@chaos.example`, password: `long enough ${newKey()}` };
      const names = { first_name: 'Ana', last_name: 'Kovač', account_name: `Crossing ${n}`, application_name: 'Shop' };
      const asked = await client.decided('register', { path: '/v1/auth/register', json: { ...person, ...names } });
      if (!isStatus(world, `register ${person.email}`, asked, 201)) return null;
      const email = `guest-crossing-${n}@chaos.example`;
      const invited = await viaApi(world, 'invite', { path: '/identity-invites', json: { email } });
      const inviteId = isStatus(world, `invite ${email}`, invited, 201)
        ? (JSON.parse(invited.body) as { data: { id: string } }).data.id
        : null;
      if (inviteId) ledger.note('invite', { id: inviteId, email });
      const mail = await until(`a mail to ${person.email}`, () => mails.deliveredTo(person.email)[0]);
      return { person, token: linkTokenIn(mail.raw), inviteId };
    },

    /** Follows the link of the mail, and revokes the invite. */
    async end(begun: Begun | null): Promise<void> {
      if (!begun) return;
      const { person, token, inviteId } = begun;
      const confirmed = await confirmLink(client, { ...person, token });
      if (isStatus(world, `confirm ${person.email}`, confirmed, 201)) ledger.note('registration', person);
      if (!inviteId) return;
      const revocation = { method: 'POST', path: `/identity-invites/${inviteId}/revoke` } as const;
      const revoked = await viaApi(world, 'revoke invite', revocation);
      if (isStatus(world, `revoke invite ${inviteId}`, revoked, 200))
        ledger.note('invite revocation', { id: inviteId });
    },
  };
}

/** How many workflows of a kind one version began and the other continued. */
export interface Crossed {
  kind: string;
  toNew: number;
  toOld: number;
}

/**
 * Reads in all histories which workers processed them.
 * @param versionOf the version of a worker's process, by its id
 */
export async function crossedWorkflows(
  address: string,
  versionOf: ReadonlyMap<number, Version['name']>,
): Promise<Crossed[]> {
  const connection = await Connection.connect({ address });
  const { workflow } = new Client({ connection });
  const kinds = new Map<string, Crossed>();
  try {
    for await (const { workflowId, runId } of workflow.list()) {
      const { events = [] } = await workflow.getHandle(workflowId, runId).fetchHistory();
      const order = (events ?? []).flatMap(({ workflowTaskCompletedEventAttributes: task }) => {
        const version = versionOf.get(Number.parseInt(task?.identity ?? '', 10));
        return version ? [version] : [];
      });
      const kind = workflowId.split('/')[0] as string;
      const crossed = kinds.get(kind) ?? { kind, toNew: 0, toOld: 0 };
      kinds.set(kind, crossed);
      const follows = (a: string, b: string) => order.some((version, i) => version === a && order[i + 1] === b);
      if (follows('old', 'new')) crossed.toNew += 1;
      if (follows('new', 'old')) crossed.toOld += 1;
    }
  } finally {
    await connection.close();
  }
  return [...kinds.values()].filter(({ toNew, toOld }) => toNew + toOld > 0);
}
