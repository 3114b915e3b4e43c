import { type Agent, request as httpRequest } from 'node:http';
import { patience } from '../patience.js';

/** An answer, or why there was none. */
export type Outcome =
  | { kind: 'answer'; status: number; headers: Record<string, string | string[] | undefined>; body: string }
  | { kind: 'failed'; code: string };

export interface Sent {
  name: string;
  startedAt: number;
  endedAt: number;
  outcome: Outcome;
}

export interface Call {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
  /** Absent: a new connection, so that a failure belongs to this request and not to an older connection. */
  agent?: Agent;
}

/**
 * Sends one request; never rejects.
 * @param onSent called when the whole request was passed to the operating system
 */
export function call(
  url: string,
  { method = 'GET', headers = {}, body, agent }: Call = {},
  onSent: () => void = () => {},
): Promise<Outcome> {
  return new Promise((resolve) => {
    const failed = (error: NodeJS.ErrnoException) => resolve({ kind: 'failed', code: error.code ?? error.message });
    const sent = httpRequest(url, { method, headers, agent: agent ?? false, timeout: patience }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', failed);
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        resolve({ kind: 'answer', status: response.statusCode ?? 0, headers: response.headers, body: text });
      });
    });
    sent.on('timeout', () => sent.destroy(new Error('no answer in 30 s')));
    sent.on('error', failed);
    sent.on('finish', onSent);
    sent.end(body);
  });
}

export const statusOf = (outcome: Outcome): number | string =>
  outcome.kind === 'answer' ? outcome.status : outcome.code;

/** Repeats each step until stopped, and records every outcome. */
export function startLoad(steps: Record<string, () => Promise<Outcome>>) {
  const all: Sent[] = [];
  let stopped = false;
  const loops = Object.entries(steps).map(async ([name, step]) => {
    while (!stopped) {
      const startedAt = Date.now();
      const outcome = await step();
      all.push({ name, startedAt, endedAt: Date.now(), outcome });
    }
  });
  return {
    all,
    async stop(): Promise<void> {
      stopped = true;
      await Promise.all(loops);
    },
  };
}

/** Returns `signIn 200 × 12, signIn 503 × 3`, for the message of a failing test. */
export function summary(sent: readonly Sent[]): string {
  const counts = new Map<string, number>();
  for (const { name, outcome } of sent) {
    const key = `${name} ${statusOf(outcome)}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return [...counts].map(([key, count]) => `${key} × ${count}`).join(', ');
}
