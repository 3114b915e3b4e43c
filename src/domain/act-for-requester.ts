import { type Actor, runInContext } from '../platform/context.js';

/** Who asked for something that a process does later, as its row keeps it. */
export interface Requester {
  correlationId: string;
  actorType: string;
  actorId: string | null;
}

/** Does a step of a process as the doing of whoever asked for it, in the events that it records. */
export const actForRequester = <T>(
  { correlationId, actorType, actorId }: Requester,
  work: () => Promise<T>,
): Promise<T> => runInContext({ correlationId, actor: { type: actorType as Actor['type'], id: actorId } }, work);
