import type { Profiler } from 'node:inspector';
import { WebSocket } from 'undici';

/** The sampling interval; V8's default is twice as long. */
const samplingMicroseconds = 500;

/** Profiles the main thread of a process started with `--inspect` while `work` runs. @throws Error of the inspector */
export async function profiled<T>(
  port: number,
  work: () => Promise<T>,
): Promise<{ result: T; profile: Profiler.Profile }> {
  const inspector = await openInspector(port);
  try {
    await inspector.send('Profiler.enable');
    await inspector.send('Profiler.setSamplingInterval', { interval: samplingMicroseconds });
    await inspector.send('Profiler.start');
    const result = await work();
    const { profile } = (await inspector.send('Profiler.stop')) as Profiler.StopReturnType;
    return { result, profile };
  } finally {
    inspector.close();
  }
}

interface Answer {
  id: number;
  result?: object;
  error?: { message: string };
}

async function openInspector(port: number) {
  const [target] = (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as {
    webSocketDebuggerUrl: string;
  }[];
  const socket = new WebSocket((target as { webSocketDebuggerUrl: string }).webSocketDebuggerUrl);
  const asked = new Map<number, Waiting>();
  const fail = () => {
    for (const { reject } of asked.values()) reject(new Error('the inspector went away'));
    asked.clear();
  };
  socket.addEventListener('message', ({ data }) => {
    const { id, result = {}, error } = JSON.parse(String(data)) as Answer;
    const waiting = asked.get(id);
    asked.delete(id);
    if (error) waiting?.reject(new Error(error.message));
    else waiting?.resolve(result);
  });
  socket.addEventListener('close', fail);
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener('open', () => resolve());
    socket.addEventListener('error', () => reject(new Error('the inspector does not answer')));
  });
  let last = 0;
  return {
    send: (method: string, params: object = {}): Promise<object> =>
      new Promise((resolve, reject) => {
        last += 1;
        asked.set(last, { resolve, reject });
        socket.send(JSON.stringify({ id: last, method, params }));
      }),
    close: () => socket.close(),
  };
}

interface Waiting {
  resolve(result: object): void;
  reject(error: Error): void;
}
