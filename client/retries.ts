export interface RetryOptions {
  /** How often a request is retried after 429, 503 or a lost connection. */
  retries?: number;
  /** The longest pause before a retry; if the service asks for a longer one, the error is thrown immediately. */
  maxPauseMs?: number;
  /** The time limit of each attempt with its JSON response, plus the requested `wait`. Files have no limit. */
  timeoutMs?: number;
  fetch?: typeof globalThis.fetch;
}

/**
 * Returns a `fetch` that retries requests that were refused temporarily, or whose response was lost. This is safe for
 * writes, since they carry an Idempotency-Key.
 */
export function createRetryingFetch({
  retries = 3,
  maxPauseMs = 30_000,
  timeoutMs = 30_000,
  fetch = globalThis.fetch,
}: RetryOptions) {
  async function once(request: Request): Promise<Response> {
    // A timer keeps the controller alive: Node 20 garbage-collects the signal of `AbortSignal.any`, which never fires
    // then.
    const limit = new AbortController();
    const timer = setTimeout(
      () => limit.abort(new DOMException('The service did not answer in time', 'TimeoutError')),
      timeoutMs + waitAskedFor(request),
    );
    (timer as { unref?(): void }).unref?.(); // a program that has its response need not wait for the timer
    request.signal.addEventListener('abort', () => limit.abort(request.signal.reason), { once: true });
    if (request.signal.aborted) limit.abort(request.signal.reason);
    try {
      const response = await fetch(request.clone(), { signal: limit.signal });
      if (!isJson(response)) clearTimeout(timer); // a file may take any time
      return response;
    } catch (error) {
      clearTimeout(timer);
      throw error;
    }
  }
  return async (request: Request): Promise<Response> => {
    for (let attempt = 0; ; attempt += 1) {
      const isLast = attempt >= retries;
      const response = await once(request).catch((error: unknown) => {
        if (isLast || request.signal.aborted) throw error;
        return null;
      });
      const pause = pauseOf(response, attempt);
      if (response && (isLast || pause > maxPauseMs || !(await isTemporary(response, attempt)))) return response;
      await response?.body?.cancel();
      await wait(Math.min(pause, maxPauseMs), request.signal);
    }
  };
}

/** Returns the milliseconds that the service itself waits before it responds, as for the change feed. */
const waitAskedFor = ({ url }: Request): number => 1000 * (Number(new URL(url).searchParams.get('wait')) || 0);

export const isJson = (response: Response): boolean => /[/+]json\b/.test(response.headers.get('content-type') ?? '');

/**
 * Whether a retry may succeed: after 429, 503, or a 409 `idempotency.in_progress`, which is about our own first
 * attempt, whose response was lost.
 */
async function isTemporary(response: Response, attempt: number): Promise<boolean> {
  if (response.status === 429 || response.status === 503) return true;
  if (response.status !== 409 || attempt === 0) return false;
  const body = (await response
    .clone()
    .json()
    .catch(() => null)) as { error?: { code?: string } } | null;
  return body?.error?.code === 'idempotency.in_progress';
}

/** Returns the pause that the service asks for (RFC 9110 §10.2.3), otherwise twice as long each time, with jitter. */
function pauseOf(response: Response | null, attempt: number): number {
  const asked = response?.headers.get('retry-after');
  if (!asked) return 200 * 2 ** attempt * (0.5 + Math.random() / 2);
  const ms = /^\d+$/.test(asked) ? Number(asked) * 1000 : Date.parse(asked) - Date.now();
  return Number.isNaN(ms) ? 1000 : Math.max(ms, 0);
}

const wait = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', abort);
      resolve();
    }, ms);
    const abort = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    signal.addEventListener('abort', abort, { once: true });
  });
