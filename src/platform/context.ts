import { AsyncLocalStorage } from 'node:async_hooks';
import { v7 as uuidv7 } from 'uuid';
import type { LazyAbort } from './lazy-abort.js';

/** The actor. A person only by their id: the name is looked up when an audit row is read. */
export interface Actor {
  type: 'platform_admin' | 'identity' | 'api_key' | 'scim_token' | 'system' | 'anonymous';
  id: string | null;
  /** The name of an API key or a SCIM token. */
  label?: string | null;
}

/** The system as the actor: of what happens by itself, or because of somebody else's word or silence. */
export const systemActor: Actor = { type: 'system', id: null };

export interface RequestContext {
  /** The request's id, which becomes the `correlation_id` of everything it causes. */
  correlationId: string;
  actor: Actor;
  /** The events that the request's operation declares; undefined where a process acts by itself. */
  declaredEvents?: readonly string[] | undefined;
  /**
   * Whether something may have been done of which no answer came. One object for the request and everybody who acts in
   * it.
   */
  outcome?: { isUnknown: boolean };
  /** Aborted when nobody waits for the answer any more: its time is over, or its caller is gone. */
  givenUp?: Pick<LazyAbort, 'aborted' | 'signal'>;
  /** Checks the caller's credential again if that was a while ago; absent where none was needed. Throws the refusal. */
  stillMay?: () => Promise<void>;
  /** The signal that stops what runs now (`stoppable`). */
  stoppedBy?: AbortSignal;
}

const storage = new AsyncLocalStorage<RequestContext>();

/** Runs `work`, and whatever it awaits, in this context. */
export const runInContext = <T>(context: RequestContext, work: () => T): T => storage.run(context, work);

/** Runs `work`, within the running request, as the doing of somebody who has become known on the way. */
export const actAs = <T>(actor: Actor, work: () => T): T => runInContext({ ...currentContext(), actor }, work);

/**
 * Refuses the running request if its caller was revoked, or given other rights, since they were checked. After slow
 * work, and before anything is written; not within a transaction, since it takes another connection.
 */
export const assertStillMay = async (): Promise<void> => storage.getStore()?.stillMay?.();

/** The running request's context; a process that acts by itself is the system. */
export const currentContext = (): RequestContext =>
  storage.getStore() ?? { correlationId: uuidv7(), actor: systemActor };
