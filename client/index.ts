import createClient, { type FetchResponse, type MaybeOptionalInit } from 'openapi-fetch';
import { GatehouseError } from './errors.js';
import { createRetryingFetch, isJson, type RetryOptions } from './retries.js';
import type { EventData, ListChangesResponse, paths } from './schema.js';

export { type ErrorCode, type ErrorDetail, GatehouseError } from './errors.js';
export type * from './schema.js';

/** The `type` of an event determines its `data`. */
type Events<Told, Data> = {
  [T in keyof EventData]-?: Told & { type: T; data: NonNullable<EventData[T]> & Data };
}[keyof EventData];

/** The resource that an event is about. */
interface About {
  resource_type: string;
  resource_id: string | null;
}

/** The envelope of every webhook delivery. */
interface Told {
  /** When it happened (RFC 3339). */
  timestamp: string;
  account_id: string;
  /** Null if it happened in the account itself. */
  environment_id: string | null;
}

/** The body of a webhook delivery, once its signature is verified; `POST /webhooks/{id}/test` sends `webhook.test`. */
export type WebhookEvent = Events<Told, About> | (Told & { type: 'webhook.test'; data: About });

/** An item of the change feed. */
export type ChangeEvent = Events<Omit<ListChangesResponse['items'][number], 'type' | 'data'>, unknown>;

/** The arguments of a call after its path: optional if none of them is required. */
type InitParam<I> = undefined extends I ? [init?: I] : [init: I];
type Method = 'get' | 'put' | 'post' | 'patch' | 'delete';
type WithMethod<M extends Method> = {
  [P in keyof paths]: paths[P] extends Record<M, object> ? P : never;
}[keyof paths];
type Answered<O> =
  O extends Record<string | number, unknown>
    ? NonNullable<Extract<FetchResponse<O, object, 'application/json'>, { error?: never }>['data']>
    : never;
/** Whether the response of an operation is not JSON but, for example, a file. */
type IsFile<O> = O extends { responses: { 200: { content: infer C } } }
  ? 'application/json' extends keyof C
    ? false
    : true
  : false;
/** The response body of an operation: undefined for 204, a stream of bytes for a file. */
export type DataOf<P extends keyof paths, M extends Method> =
  IsFile<paths[P][M]> extends true
    ? ReadableStream<Uint8Array>
    : [Answered<paths[P][M]>] extends [never]
      ? undefined
      : Answered<paths[P][M]>;
type Call<M extends Method> = <P extends WithMethod<M>>(
  path: P,
  ...init: InitParam<MaybeOptionalInit<paths[P], M>>
) => Promise<DataOf<P, M>>;

interface Page<T> {
  items: T[];
  pagination: { page: number; has_next_page: boolean };
}
/** The paths of paginated lists. */
export type ListPath = {
  [P in WithMethod<'get'>]: DataOf<P, 'get'> extends Page<unknown> ? P : never;
}[WithMethod<'get'>];
export type ItemOf<P extends ListPath> = DataOf<P, 'get'> extends Page<infer T> ? T : never;

/**
 * Calls of the API, typed by path. They return the response body, and throw a `GatehouseError` for every error
 * response.
 */
export interface Gatehouse {
  get: Call<'get'>;
  post: Call<'post'>;
  put: Call<'put'>;
  patch: Call<'patch'>;
  delete: Call<'delete'>;
  /**
   * Returns every item of a list, fetched page by page as needed. With the order by `created_at`, which is the default,
   * items that exist all the time are returned exactly once, even if others are added or removed in the meantime.
   */
  all<P extends ListPath>(path: P, ...init: InitParam<MaybeOptionalInit<paths[P], 'get'>>): AsyncGenerator<ItemOf<P>>;
}

type Token = string | (() => string | Promise<string>);
export type Credentials = { apiKey: string; accessToken?: undefined } | { accessToken: Token; apiKey?: undefined };

export type GatehouseOptions = Credentials &
  RetryOptions & {
    /** The URL of the service, for example `https://id.example.com`. */
    baseUrl: string;
    /**
     * With an administrator's access token: the environment, by its slugs, to which `/api/v1/…` refers. The same
     * operations are then called on the Portal API.
     */
    environment?: { account: string; application: string; environment: string };
  };

/**
 * POST operations that change nothing are repeated without a key: storing the response would cost more than the call.
 */
const questions = /^\/access\/v1\/|\/authorization\/(evaluate|evaluate\/bulk|explain)$/;

/** A client of one environment, with the API key of a server or the access token of a person. */
export function createGatehouse(options: GatehouseOptions): Gatehouse {
  const client = createClient<Record<string, never>>({ baseUrl: options.baseUrl, fetch: createRetryingFetch(options) });
  client.use({
    async onRequest({ request, schemaPath }) {
      const { apiKey, accessToken } = options;
      if (apiKey !== undefined) request.headers.set('x-api-key', apiKey);
      else request.headers.set('authorization', `Bearer ${await tokenOf(accessToken)}`);
      // A retry after a lost response must not repeat the write.
      const isWrite = request.method !== 'GET' && !questions.test(schemaPath);
      if (isWrite && !request.headers.has('idempotency-key'))
        request.headers.set('idempotency-key', crypto.randomUUID());
    },
    async onResponse({ response }) {
      if (!response.ok) throw await GatehouseError.of(response);
    },
  });
  const send = client.request as (
    method: Method,
    path: string,
    init?: object,
  ) => Promise<{ data?: unknown; response: Response }>;
  async function answered(method: Method, path: string, init: { parseAs?: string; params?: object } = {}) {
    const answer = await send(method, placed(path, options.environment), { parseAs: 'stream', ...init });
    return init.parseAs ? answer : { ...answer, data: await bodyOf(answer) };
  }
  const call =
    (method: Method) =>
    async (path: string, init?: object): Promise<unknown> =>
      (await answered(method, path, init)).data;
  async function* all(path: string, init: { params?: { query?: object } } = {}) {
    let place: Record<string, string> | null = { page: '1' };
    while (place) {
      const query = { take: 100, ...init.params?.query, ...place };
      const { data, response } = await answered('get', path, { ...init, params: { ...init.params, query } });
      yield* (data as Page<unknown>).items;
      place = nextPlace(response.headers.get('link'));
    }
  }
  const calls = {
    get: call('get'),
    post: call('post'),
    put: call('put'),
    patch: call('patch'),
    delete: call('delete'),
    all,
  };
  return calls as unknown as Gatehouse;
}

/** Returns the parsed JSON, or the stream of any other body. */
async function bodyOf({ response }: { response: Response }): Promise<unknown> {
  if (response.status === 204 || response.headers.get('content-length') === '0') return undefined;
  return isJson(response) ? response.json() : response.body;
}

/** Returns the query parameters of the next page, from a page's `Link` header. */
function nextPlace(link: string | null): Record<string, string> | null {
  const target = /<([^>]*)>; rel="next"/.exec(link ?? '')?.[1];
  if (target === undefined) return null;
  const asked = new URLSearchParams(target.slice(target.indexOf('?')));
  return Object.fromEntries([...asked].filter(([name]) => name === 'page' || name === 'after'));
}

const tokenOf = async (token: Token): Promise<string> => (typeof token === 'function' ? token() : token);

function placed(path: string, place: GatehouseOptions['environment']): string {
  if (!place || !path.startsWith('/api/v1/')) return path;
  const [account, application, environment] = [place.account, place.application, place.environment].map(
    encodeURIComponent,
  );
  const prefix = `/portal/v1/accounts/${account}/applications/${application}/environments/${environment}`;
  return path.replace('/api/v1', prefix);
}
