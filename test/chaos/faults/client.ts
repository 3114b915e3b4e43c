import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Call, call, type Outcome, statusOf } from '../../support/chaos/load.js';

export interface Request {
  method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: string;
  headers?: Record<string, string>;
  json?: object;
  form?: Record<string, string>;
  /** Sent with every repetition. */
  idempotencyKey?: string;
}

export interface Attempt {
  name: string;
  /** Milliseconds since the epoch. */
  startedAt: number;
  ms: number;
  status: number | string;
}

export interface Decided {
  status: number;
  body: string;
  /** Whether an earlier attempt may have taken effect without an answer. */
  isAmbiguous: boolean;
  /** Milliseconds from the end of the first such attempt to the start of the answered one. */
  inDoubtMs: number;
}

export type Client = ReturnType<typeof createClient>;

/**
 * Returns a caller behind a load balancer: each attempt goes to another api, and one without an answer, or with 503, is
 * repeated with the same key until there is a decision.
 */
export function createClient(origins: readonly string[]) {
  const attempts: Attempt[] = [];
  const wrong: string[] = [];
  let turn = 0;
  let isOver = false;

  async function attempt(name: string, request: Request): Promise<Outcome> {
    const startedAt = Date.now();
    const outcome = await call(`${origins[turn++ % origins.length]}${request.path}`, callOf(request));
    attempts.push({ name, startedAt, ms: Date.now() - startedAt, status: statusOf(outcome) });
    if (outcome.kind === 'answer') {
      const { status, headers, body } = outcome;
      if (status >= 500 && status !== 503) wrong.push(`${name}: ${status} ${body.slice(0, 300)}`);
      if (status === 503 && !/^[1-9]\d*$/.test(String(headers['retry-after'])))
        wrong.push(`${name}: 503 without Retry-After: ${body.slice(0, 300)}`);
    }
    return outcome;
  }

  return {
    attempts,
    /** Answers that are wrong whatever was requested. */
    wrong,
    attempt,
    /** @returns null if the run ends before there is a decision */
    async decided(name: string, request: Request): Promise<Decided | null> {
      let doubtSince: number | null = null;
      while (!isOver) {
        const at = Date.now();
        const outcome = await attempt(name, request);
        if (outcome.kind === 'answer' && isDecision(outcome)) {
          const { status, body } = outcome;
          const inDoubtMs = doubtSince === null ? 0 : at - doubtSince;
          return { status, body, isAmbiguous: doubtSince !== null, inDoubtMs };
        }
        // A refused connection means that nothing was begun.
        if (statusOf(outcome) !== 'ECONNREFUSED') doubtSince ??= Date.now();
        await sleep(250);
      }
      return null;
    },
    /** Stops repeating what has no decision yet. @returns what undoes that */
    giveUp(): () => void {
      isOver = true;
      return () => {
        isOver = false;
      };
    },
  };
}

const isDecision = ({ status, body }: { status: number; body: string }): boolean =>
  status < 500 && !(status === 409 && body.includes('idempotency.in_progress'));

function callOf({ method, headers, json, form, idempotencyKey }: Request): Call {
  const body = json ? JSON.stringify(json) : form ? new URLSearchParams(form).toString() : undefined;
  return {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: {
      ...(json && { 'content-type': 'application/json' }),
      ...(form && { 'content-type': 'application/x-www-form-urlencoded' }),
      ...(idempotencyKey && { 'idempotency-key': idempotencyKey }),
      ...headers,
    },
    body,
  };
}

export const newKey = (): string => randomUUID();
