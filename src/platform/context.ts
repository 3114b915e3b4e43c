import { AsyncLocalStorage } from 'node:async_hooks';
import { v7 as uuidv7 } from 'uuid';
import type { LazyAbort } from './lazy-abort.js';

/** Who acts. A person by their id only: their name is looked up when an audit row is read. */
export interface Actor {
  type: 'platform_admin' | 'identity' | 'api_key' | 'scim_token' | 'system' | 'anonymous';
  id: string | null;
  /** What an API key or a SCIM token is called. */
  label?: string | null;
}

/** Whoever asked for it: what happens by itself, or because of somebody else's word or silence. */
export const systemActor: Actor = { type: 'system', id: null };

export interface RequestContext {
  /** The request's id, which becomes the `correlation_id` of everything it causes. */
  correlationId: string;
  actor: Actor;
  /** Which events the request's operation says that it records; undefined where a process acts by itself. */
  declaredEvents?: readonly string[] | undefined;
  /** Whether something that it sent to be done may have been done although nobody said so. One for the request and all who act in it. */
  outcome?: { isUnknown: boolean };
  /** Aborted when nobody waits for the request's answer any more: it had its time, or its caller is gone. */
  givenUp?: Pick<LazyAbort, 'aborted' | 'signal'>;
  /** Proves the request's caller again, where that was a while ago; absent where nobody had to be. Throws what they are refused with. */
  stillMay?: () => Promise<void>;
  /** Its signal, where what runs now is to be stopped then (`stoppable`). */
  stoppedBy?: AbortSignal;
}

const storage = new AsyncLocalStorage<RequestContext>();

/** Runs `work`, and whatever it awaits, in this context. */
export const runInContext = <T>(context: RequestContext, work: () => T): T => storage.run(context, work);

/** Runs `work` as somebody's doing who turns out on the way, within the request that runs. */
export const actAs = <T>(actor: Actor, work: () => T): T => runInContext({ ...currentContext(), actor }, work);

/**
 * Refuses the running request where its caller was revoked, or given other rights, since they were proved: after what takes its time, and
 * before anything is written. Not within a transaction: it takes another connection.
 */
export const assertStillMay = async (): Promise<void> => storage.getStore()?.stillMay?.();

/** The running request's context; a process that acts by itself is the system. */
export const currentContext = (): RequestContext =>
  storage.getStore() ?? { correlationId: uuidv7(), actor: systemActor };
