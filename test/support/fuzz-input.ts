import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import type { InjectOptions } from 'fastify';
import {
  authorizations,
  contentTypes,
  cookieParts,
  headerValues,
  longTexts,
  marker,
  oddForms,
  oddJsonTexts,
  oddSegments,
  oddTexts,
  oddTimes,
  rawQueries,
} from './fuzz-values.js';

/** The requests' remote address; an address is personal data as well. */
export const remoteAddress = '203.0.113.77';

export interface Route {
  method: string;
  /** With `:name` for each parameter. */
  url: string;
}

/** A route's input as the OpenAPI document describes it, so that much of what is sent is nearly right. */
export interface RouteInput {
  query: string[];
  body: Schema | null;
}
export interface Schema {
  type?: string;
  enum?: unknown[];
  format?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
  minimum?: number;
}

/** Values that are valid in this database: slugs, ids, credentials. */
export interface Known {
  params: Record<string, string[]>;
  /** Complete sets of headers that authenticate. */
  credentials: Record<string, string>[];
  /** Values of OAuth parameters and other fields, by name. */
  fields: Record<string, string[]>;
  cookies: string[];
  /** Whole queries or forms that a route accepts, by its path; they are sent with few changes. */
  wholes: Record<string, Record<string, string>>;
}

/** Returns every route of the app, from its router: `printRoutes({ commonPrefix: false })` is a tree of path parts. */
export function routesIn(printed: string): Route[] {
  const parts: string[] = [];
  return printed.split('\n').flatMap((line) => {
    const [, indent = '', part = '', methods = ''] = /^([│ ]*)[├└]── (\S+) \((.+)\)$/.exec(line) ?? [];
    if (!part) return [];
    const depth = indent.length / 4;
    parts.splice(depth, parts.length, part);
    const url = parts.slice(0, depth + 1).join('');
    return methods.split(', ').map((method) => ({ method, url }));
  });
}

const oddText = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...oddTexts) },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 60 }).map((text) => `${marker}${text}`) },
  { weight: 1, arbitrary: fc.constantFrom(...longTexts) },
);
const oddJson: fc.Arbitrary<unknown> = fc.oneof(
  oddText,
  fc.constantFrom<unknown>(null, true, 0, -1, 1e308, 2 ** 53, -(2 ** 63), 0.1, [], {}, [[]], [null], { a: null }),
  fc.constantFrom<unknown>({ toString: 1, valueOf: null }, { length: -1 }, { constructor: { prototype: 1 } }),
  fc.array(oddText, { maxLength: 3 }),
  fc.dictionary(oddText, oddText, { maxKeys: 3 }),
  fc.jsonValue({ maxDepth: 3 }),
);

/** Looks up own properties only: `constructor` is one of the names. */
const of = (values: Record<string, string[]>, name: string) => (Object.hasOwn(values, name) ? values[name] : undefined);

/** Generates mostly values that a schema accepts. */
function valueFor(name: string, schema: Schema, known: Known): fc.Arbitrary<unknown> {
  const right: fc.Arbitrary<unknown>[] = (of(known.fields, name) ?? []).map((value) => fc.constant(value));
  if (schema.enum) right.push(fc.constantFrom(...schema.enum));
  else if (schema.type === 'boolean') right.push(fc.boolean());
  else if (schema.type === 'integer' || schema.type === 'number')
    right.push(fc.constantFrom(schema.minimum ?? 1, 1, 8, 60, 3600), fc.integer());
  else if (schema.type === 'array') right.push(fc.array(valueFor(name, schema.items ?? {}, known), { maxLength: 3 }));
  else if (schema.type === 'object') {
    right.push(schema.properties ? objectFor(schema, known) : fc.dictionary(oddText, oddJson, { maxKeys: 3 }));
  } else if (/^(idn-)?email$/.test(schema.format ?? '')) right.push(fc.uuid().map((id) => `${id}@${marker}.example`));
  else if (schema.format === 'uuid') right.push(fc.uuid());
  else if (schema.format === 'uri') right.push(fc.constantFrom(`https://${marker}.example/a?b=c`, 'urn:x:y', 'data:,'));
  else if (schema.format === 'date-time') right.push(fc.constantFrom('2030-01-01T00:00:00Z', ...oddTimes));
  else
    right.push(
      fc.constantFrom('Name', `a ${marker} name`, 'slug-1'),
      fc.uuid().map((id) => `${marker} ${id}`),
    );
  return fc.oneof({ weight: 14, arbitrary: fc.oneof(...right) }, { weight: 1, arbitrary: oddJson });
}

function objectFor({ properties = {} }: Schema, known: Known): fc.Arbitrary<object> {
  const fields = Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, valueFor(name, schema, known)]),
  );
  const more = fc.option(fc.dictionary(oddText, oddJson, { minKeys: 1, maxKeys: 2 }), { freq: 2, nil: {} });
  return fc
    .tuple(fc.record(fields, { requiredKeys: [] }), fc.record(fields), fc.boolean(), more)
    .map(([some, all, whole, extra]) => ({ ...(whole ? all : some), ...extra }));
}

const formOf = (pairs: [string, string][]) =>
  pairs.map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&');
/** Encodes for a URL; a lone surrogate, which has no valid form, as the bytes that a careless client would send. */
const encode = (text: string) =>
  encodeURIComponent(text.replace(/\p{Surrogate}/gu, '\ufffd')).replaceAll('%EF%BF%BD', '%ED%A0%80');
const pairs = (names: string[], known: Known) =>
  fc.array(
    fc
      .constantFrom(...names, '__proto__', 'constructor', 'a[b]', 'a[]', '')
      .chain((name) =>
        fc.tuple(fc.constant(name), fc.oneof(oddText, fc.constantFrom(...(of(known.fields, name) ?? ['x'])))),
      ),
    { maxLength: 9 },
  );

/** Generates a whole query or form with at most a few parts missing, odd or repeated. */
const pairsNear = (whole: Record<string, string>): fc.Arbitrary<[string, string][]> => {
  const part = ([name, value]: [string, string]): fc.Arbitrary<[string, string][]> =>
    fc.oneof(
      { weight: 20, arbitrary: fc.constant<[string, string][]>([[name, value]]) },
      { weight: 1, arbitrary: fc.constant<[string, string][]>([]) },
      { weight: 2, arbitrary: oddText.map((odd): [string, string][] => [[name, odd]]) },
      {
        weight: 1,
        arbitrary: fc.constant<[string, string][]>([
          [name, value],
          [name, value],
        ]),
      },
    );
  return fc.tuple(...Object.entries(whole).map(part)).map((all) => all.flat());
};

type Body = Pick<InjectOptions, 'payload'> & { contentType: string | null };

function bodyFor(route: Route, { body }: RouteInput, known: Known): fc.Arbitrary<Body> {
  const as = (contentType: string) => (payload: string | Buffer) => ({ payload, contentType });
  const asJson = as('application/json');
  const asForm = as('application/x-www-form-urlencoded');
  const names = [...Object.keys(body?.properties ?? {}), ...Object.keys(known.fields)];
  const nearly = body ? objectFor(body, known) : fc.dictionary(fc.constantFrom(...names), oddJson, { maxKeys: 4 });
  const stringified = (value: unknown) => JSON.stringify(value) ?? 'null';
  const whole = pairsNear(known.wholes[route.url] ?? {});
  const isOAuth = route.url.startsWith('/oauth');
  return fc.oneof(
    { weight: isOAuth ? 3 : 10, arbitrary: nearly.map(stringified).map(asJson) },
    { weight: isOAuth ? 6 : 1, arbitrary: pairs(names, known).map(formOf).map(asForm) },
    { weight: isOAuth ? 6 : 1, arbitrary: whole.map(formOf).map(asForm) },
    { weight: 2, arbitrary: oddJson.map(stringified).map(asJson) },
    { weight: 2, arbitrary: fc.constantFrom(...oddJsonTexts).map(asJson) },
    { weight: 1, arbitrary: fc.constantFrom(...oddForms).map(asForm) },
    {
      weight: 2,
      arbitrary: fc
        .tuple(
          fc.constantFrom(...contentTypes),
          fc.oneof(
            nearly.map(stringified),
            fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
          ),
        )
        .map(([contentType, payload]) => ({ contentType, payload })),
    },
    { weight: 1, arbitrary: fc.constant({ contentType: null }) },
  );
}

/** Leaves out what HTTP does not allow in a header. */
const wire = (text: string) => text.replace(/[^\t\x20-\x7e\x80-\xff]/g, '').slice(0, 8_000);

function headersFor(known: Known): fc.Arbitrary<Record<string, string>> {
  const odd = fc
    .array(
      fc
        .constantFrom(...Object.keys(headerValues))
        .chain((name) =>
          fc.tuple(fc.constant(name), fc.oneof(fc.constantFrom(...(headerValues[name] ?? [''])), oddText.map(wire))),
        ),
      { maxLength: 4 },
    )
    .map((all) => Object.fromEntries(all) as Record<string, string>);
  const cookie = fc
    .array(fc.oneof(fc.constantFrom(...cookieParts, ...known.cookies), oddText.map(wire)), {
      minLength: 1,
      maxLength: 3,
    })
    .map((all) => ({ cookie: all.join('; ') }));
  const proof = fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom(...known.credentials) },
    {
      weight: 2,
      arbitrary: fc.constantFrom(...authorizations).map((authorization) => ({ authorization: wire(authorization) })),
    },
    { weight: 1, arbitrary: oddText.map((text) => ({ authorization: wire(`Bearer ${text}`) })) },
    { weight: 1, arbitrary: fc.constantFrom(...known.credentials).map((all) => spoilt(all)) },
    { weight: 2, arbitrary: fc.constant({}) },
  );
  return fc
    .tuple(proof, fc.oneof({ weight: 3, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: cookie }), odd)
    .map(([credential, cookies, more]) => ({ ...more, ...cookies, ...credential }));
}

/** Cuts the last character of a credential, as a hasty copy does. */
const spoilt = (headers: Record<string, string>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, value.slice(0, -1)]));

export interface Sent extends InjectOptions {
  method: 'GET';
  url: string;
}

/** Generates requests of a route, from nearly right ones to nonsense. */
export function requestFor(route: Route, input: RouteInput, known: Known): fc.Arbitrary<Sent> {
  const names = [...route.url.matchAll(/:(\w+)/g)].map(([, name]) => name as string);
  // A path with one wrong parameter is refused early, so most are right.
  const params = fc.tuple(
    ...names.map((name) =>
      fc.oneof(
        { weight: 8, arbitrary: fc.constantFrom(...(of(known.params, name) ?? ['x'])) },
        { weight: 1, arbitrary: fc.constantFrom(...oddSegments) },
      ),
    ),
  );
  const query = fc.oneof(
    { weight: 3, arbitrary: fc.constant(null) },
    {
      weight: 4,
      arbitrary: pairs(
        [...input.query, ...Object.keys(known.fields).slice(0, input.query.length ? 0 : 40), 'q'],
        known,
      ).map(formOf),
    },
    { weight: 1, arbitrary: fc.constantFrom(...rawQueries) },
    { weight: route.url in known.wholes ? 12 : 0, arbitrary: pairsNear(known.wholes[route.url] ?? {}).map(formOf) },
  );
  const body: fc.Arbitrary<Body> = ['GET', 'HEAD', 'OPTIONS'].includes(route.method)
    ? fc.constant({ contentType: null })
    : bodyFor(route, input, known);
  return fc
    .tuple(params, query, headersFor(known), body)
    .map(([segments, search, headers, { contentType, payload }]) => {
      let next = 0;
      const path = route.url.replace(/:\w+/g, () => String(segments[next++])).replace('*', `${marker}.js`);
      return {
        method: route.method as 'GET',
        url: search === null ? path : `${path}?${search}`,
        headers: { ...headers, ...(contentType !== null && { 'content-type': contentType }) },
        ...(payload !== undefined && { payload }),
        remoteAddress,
      };
    });
}

/** Returns a new text by which a leak is recognized. */
export const newMarked = (prefix: string) => `${prefix}${marker}${randomBytes(6).toString('hex')}`;
