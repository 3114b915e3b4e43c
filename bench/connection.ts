import { Client } from 'undici';

type Method = 'GET' | 'POST' | 'PATCH';

export interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
}

/** One keep-alive connection with one request at a time; each worker of a closed loop has its own. */
export interface Connection {
  get(path: string, headers?: Record<string, string>): Promise<Answer>;
  /** Posts a form. */
  post(path: string, form: Record<string, string>, headers?: Record<string, string>): Promise<Answer>;
  postJson(path: string, body: object, headers?: Record<string, string>): Promise<Answer>;
  patchJson(path: string, body: object, headers?: Record<string, string>): Promise<Answer>;
  close(): Promise<void>;
}

export function connect(origin: string): Connection {
  const client = new Client(origin, { pipelining: 1, headersTimeout: 30_000, bodyTimeout: 30_000 });
  const send = async (method: Method, path: string, headers: Record<string, string>, body?: string) => {
    const answer = await client.request({ method, path, headers, body });
    return { status: answer.statusCode, headers: answer.headers, text: await answer.body.text() };
  };
  const sendJson = (method: Method, path: string, body: object, headers: Record<string, string>) =>
    send(method, path, { 'content-type': 'application/json', ...headers }, JSON.stringify(body));
  return {
    get: (path, headers = {}) => send('GET', path, headers),
    post: (path, form, headers = {}) =>
      send('POST', path, { 'content-type': formType, ...headers }, new URLSearchParams(form).toString()),
    postJson: (path, body, headers = {}) => sendJson('POST', path, body, headers),
    patchJson: (path, body, headers = {}) => sendJson('PATCH', path, body, headers),
    close: () => client.close(),
  };
}

const formType = 'application/x-www-form-urlencoded';

/** Returns the answer if it has this status. @throws Error that shows the other answer */
export function expectStatus(answer: Answer, status: number): Answer {
  if (answer.status !== status) throw new Error(`${answer.status} instead of ${status}: ${answer.text.slice(0, 200)}`);
  return answer;
}

/** Returns the answer's JSON. @throws Error if it has another status or is no JSON */
export function jsonOf<T = Record<string, unknown>>(answer: Answer, status = 200): T {
  return JSON.parse(expectStatus(answer, status).text) as T;
}

/** @throws Error that says what an answer lacks */
export function expectContent(ok: unknown, what: string): asserts ok {
  if (!ok) throw new Error(`the answer lacks ${what}`);
}
