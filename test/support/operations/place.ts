import type { InjectOptions, LightMyRequestResponse } from 'fastify';
import type { EnvironmentScope } from '../../../src/platform/scope.js';
import { newAccount, type TestAccount, type TestApi } from '../api.js';
import { rowsAsOwner } from '../database.js';
import { type IdentityCaller, newIdentityCaller } from '../identity-caller.js';
import type { Declared } from './declared.js';
import type { Sent } from './sent.js';

/** The caller: a server, an administrator or an end user; each with every permission in the place. */
export type CallerKind = 'key' | 'owner' | 'identity';

/** An Environment, with callers who may do everything in it. */
export interface Place {
  api: TestApi;
  account: TestAccount;
  environmentSlug: string;
  scope: EnvironmentScope;
  identity: IdentityCaller;
  headers: Record<CallerKind, Record<string, string>>;
  /** Builds the request with an operation's input and the current If-Match; `more` overrides the caller's headers. */
  request(
    declared: Pick<Declared, 'method' | 'url'>,
    sent: Sent,
    by: CallerKind | null,
    more?: Record<string, string>,
  ): Promise<InjectOptions>;
  /** Builds and sends the request. */
  call(...request: Parameters<Place['request']>): Promise<LightMyRequestResponse>;
  /** Creates something as the Environment's server (or `by` another caller); returns `data`. */
  make(url: string, payload: object, by?: CallerKind): Promise<{ id: string } & Record<string, unknown>>;
  rows<Row = Record<string, unknown>>(statement: Parameters<typeof rowsAsOwner>[1], values?: unknown[]): Promise<Row[]>;
}

/** Creates an Account; returns its two Environments. */
export async function newPlaces(api: TestApi): Promise<{ development: Place; production: Place }> {
  const account = await newAccount(api);
  const owner = await account.as('owner');
  const of = (environmentSlug: string, scope: EnvironmentScope) => placeOf(api, account, environmentSlug, scope, owner);
  return {
    development: await of('development', account.scope),
    production: await of('production', account.productionScope),
  };
}

async function placeOf(
  api: TestApi,
  account: TestAccount,
  environmentSlug: string,
  scope: EnvironmentScope,
  owner: Record<string, string>,
): Promise<Place> {
  const identity = await newIdentityCaller(api, { ...account, scope }, [{ role: 'Administrator' }]);
  const headers = { key: await account.apiKey('full', scope), owner, identity: identity.headers };
  const slugs = { accountSlug: account.accountSlug, appSlug: account.applicationSlug, envSlug: environmentSlug };

  const place: Place = {
    api,
    account,
    environmentSlug,
    scope,
    identity,
    headers,
    async request({ method, url }, { path = {}, query, body, version, slugs: others }, by, more = {}) {
      const named: Record<string, string> = { ...slugs, ...others, ...path };
      return {
        method,
        url: url.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(named[name]))),
        headers: {
          ...(by && headers[by]),
          ...(version && { 'if-match': String(await versionOf(place, version)) }),
          ...more,
        },
        ...(query && { query }),
        ...(body && { payload: body }),
      };
    },
    call: async (...request) => api.app.inject(await place.request(...request)),
    async make(url, payload, by = 'key') {
      const at = by === 'owner' ? `${account.portalPath('', environmentSlug)}${url}` : `/api/v1${url}`;
      const made = await api.app.inject({ method: 'POST', url: at, headers: headers[by], payload });
      if (made.statusCode >= 300) throw new Error(`POST ${at}: ${made.statusCode} ${made.body}`);
      return made.json().data;
    },
    rows: (statement, values) => rowsAsOwner(api.database.ownerUrl, statement, values),
  };
  return place;
}

/** Returns the current version of a row; 1 if it has none. */
async function versionOf({ rows }: Place, { table, id, key = 'id' }: NonNullable<Sent['version']>): Promise<number> {
  const [row] = await rows<{ version: number }>(`select version from ${table} where ${key} = $1`, [id]);
  return row?.version ?? 1;
}
