import createClient, { type FetchResponse, type MaybeOptionalInit } from 'openapi-fetch';
import { GatehouseError } from './errors.js';
import { isJson, type RetryOptions, retrying } from './retries.js';
import type { EventData, ListChangesResponse, paths } from './schema.js';

export { type ErrorCode, type ErrorDetail, GatehouseError } from './errors.js';
export type * from './schema.js';

/** By its `type` one knows what the `data` of an event holds. */
type Events<Told, Data> = {
  [T in keyof EventData]-?: Told & { type: T; data: NonNullable<EventData[T]> & Data };
}[keyof EventData];

/** What an event is about. */
interface About {
  resource_type: string;
  resource_id: string | null;
}

/** Around the data of every call of a webhook. */
interface Told {
  /** When it happened (RFC 3339). */
  timestamp: string;
  account_id: string;
  /** Null where it happened in the Account itself. */
  environment_id: string | null;
}

/** What a webhook is told, once the signature of the call is right; `webhook.test` is what `POST /webhooks/{id}/test` sends. */
export type WebhookEvent = Events<Told, About> | (Told & { type: 'webhook.test'; data: About });

/** An item of the change feed. */
export type ChangeEvent = Events<Omit<ListChangesResponse['items'][number], 'type' | 'data'>, unknown>;

/** What a call takes besides its path: optional where nothing in it is required. */
type InitParam<I> = undefined extends I ? [init?: I] : [init: I];
type Method = 'get' | 'put' | 'post' | 'patch' | 'delete';
type WithMethod<M extends Method> = {
  [P in keyof paths]: paths[P] extends Record<M, object> ? P : never;
}[keyof paths];
type Answered<O> =
  O extends Record<string | number, unknown>
    ? NonNullable<Extract<FetchResponse<O, object, 'application/json'>, { error?: never }>['data']>
    : never;
/** Whether what an operation answers is no JSON, as a file. */
type IsFile<O> = O extends { responses: { 200: { content: infer C } } }
  ? 'application/json' extends keyof C
    ? false
    : true
  : false;
/** What an operation answers; nothing where it answers 204, and bytes as they come where it is a file. */
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
/** The paths that answer page by page. */
export type ListPath = {
  [P in WithMethod<'get'>]: DataOf<P, 'get'> extends Page<unknown> ? P : never;
}[WithMethod<'get'>];
export type ItemOf<P extends ListPath> = DataOf<P, 'get'> extends Page<infer T> ? T : never;

/** Calls of the API, each typed by its path. They answer the body and throw a `GatehouseError` for every refusal. */
export interface Gatehouse {
  get: Call<'get'>;
  post: Call<'post'>;
  put: Call<'put'>;
  patch: Call<'patch'>;
  delete: Call<'delete'>;
  /**
   * Every item of a list, page after page as they are asked for. Sorted by `created_at`, as lists are unless told otherwise, what
   * was there from the beginning to the end comes exactly once, whoever is added or goes meanwhile.
   */
  all<P extends ListPath>(path: P, ...init: InitParam<MaybeOptionalInit<paths[P], 'get'>>): AsyncGenerator<ItemOf<P>>;
}

type Token = string | (() => string | Promise<string>);
export type Credentials = { apiKey: string; accessToken?: undefined } | { accessToken: Token; apiKey?: undefined };

export type GatehouseOptions = Credentials &
  RetryOptions & {
    /** Where the service is, as `https://id.example.com`. */
    baseUrl: string;
    /**
     * With an administrator's access token: the Environment, by its slugs, that `/api/v1/…` is about. The same operations are
     * then called on the Portal API.
     */
    environment?: { account: string; application: string; environment: string };
  };

/** What is posted and changes nothing can be asked again as it is: a kept answer would cost more than the decision. */
const questions = /^\/access\/v1\/|\/authorization\/(evaluate|evaluate\/bulk|explain)$/;

/** A client of one Environment, with an API key of a server or an access token of a person. */
export function createGatehouse(options: GatehouseOptions): Gatehouse {
  const client = createClient<Record<string, never>>({ baseUrl: options.baseUrl, fetch: retrying(options) });
  client.use({
    async onRequest({ request, schemaPath }) {
      const { apiKey, accessToken } = options;
      if (apiKey !== undefined) request.headers.set('x-api-key', apiKey);
      else request.headers.set('authorization', `Bearer ${await tokenOf(accessToken)}`);
      // A retry that follows a lost answer must not do it twice.
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

/** JSON read, all else as it comes. */
async function bodyOf({ response }: { response: Response }): Promise<unknown> {
  if (response.status === 204 || response.headers.get('content-length') === '0') return undefined;
  return isJson(response) ? response.json() : response.body;
}

/** What of a query says where a list goes on, by the `Link` of a page. */
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
