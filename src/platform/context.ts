import { AsyncLocalStorage } from 'node:async_hooks';
import { v7 as uuidv7 } from 'uuid';
import type { LazyAbort } from './lazy-abort.js';

/** Whoever acts. A person is recorded only by id; the name is looked up when an audit row is read. */
export interface Actor {
  type: 'platform_admin' | 'identity' | 'api_key' | 'scim_token' | 'system' | 'anonymous';
  id: string | null;
  /** The name of an API key or a SCIM token. */
  label?: string | null;
}

/** The system as the actor of what happens by itself, or because of another party's message or silence. */
export const systemActor: Actor = { type: 'system', id: null };

export interface RequestContext {
  /** The request's id: the `correlation_id` of everything that the request causes. */
  correlationId: string;
  actor: Actor;
  /** The events that the request's operation declares; undefined when a process acts by itself. */
  declaredEvents?: readonly string[] | undefined;
  /**
   * Whether a change may have taken effect although its answer was lost. The request and all actors in it share one
   * object.
   */
  outcome?: { isUnknown: boolean };
  /** Aborted when nobody waits for the answer any more: the request timed out, or its caller disconnected. */
  abortController?: Pick<LazyAbort, 'aborted' | 'signal'>;
  /** Rechecks the caller's credential if the last check is old; absent if none was needed. Throws the refusal. */
  stillMay?: () => Promise<void>;
  /** The signal that stops the running work (`stoppable`). */
  stoppedBy?: AbortSignal;
  /**
   * The Account whose share of this process the work uses (`inShareOf`); absent while that is unknown, and null for work
   * that uses nobody's (`inNoShare`).
   */
  accountId?: string | null;
}

const storage = new AsyncLocalStorage<RequestContext>();

/** Runs `work`, and everything that it awaits, in this context. */
export const runInContext = <T>(context: RequestContext, work: () => T): T => storage.run(context, work);

/** Runs `work` within the running request on behalf of `actor`, whom the request has identified only now. */
export const actAs = <T>(actor: Actor, work: () => T): T => runInContext({ ...currentContext(), actor }, work);

/**
 * Refuses the running request if its caller was revoked, or got other rights, since the last check. Call it after slow
 * work and before anything is written, but not within a transaction: it uses another connection.
 */
export const assertStillMay = async (): Promise<void> => storage.getStore()?.stillMay?.();

/** Has the rest of the running request use the share of this Account, where Accounts take turns (docs/decisions/0114). */
export function inShareOf(accountId: string): void {
  const context = storage.getStore();
  if (context) context.accountId = accountId;
}

/** Returns the Account whose share the running work uses; undefined where it is unknown. */
export const accountAtWork = (): string | undefined => storage.getStore()?.accountId ?? undefined;

/** Runs the common work of several requests or activities, which uses the share of none of their Accounts. */
export const inNoShare = <T>(work: () => T): T => runInContext({ ...currentContext(), accountId: null }, work);

/** Whether the running work uses nobody's share. */
export const isInNoShare = (): boolean => storage.getStore()?.accountId === null;

/** Returns the running request's context; outside a request the actor is the system. */
export const currentContext = (): RequestContext =>
  storage.getStore() ?? { correlationId: uuidv7(), actor: systemActor };
