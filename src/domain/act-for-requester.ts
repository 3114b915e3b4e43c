import { type Actor, runInContext } from '../platform/context.js';

/** The requester of something that a process does later, as the row of the process stores it. */
export interface Requester {
  correlationId: string;
  actorType: string;
  actorId: string | null;
}

/** Runs a step of a process with the actor and correlation id of the original request, so that its events name them. */
export const actForRequester = <T>(
  { correlationId, actorType, actorId }: Requester,
  work: () => Promise<T>,
): Promise<T> => runInContext({ correlationId, actor: { type: actorType as Actor['type'], id: actorId } }, work);
