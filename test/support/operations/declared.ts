import type { FastifyInstance } from 'fastify';
import { authzenOperations } from '../../../src/http/authzen/index.js';
import { portalOperations } from '../../../src/http/portal-api.js';
import { environmentOperations } from '../../../src/http/surfaces/environment-operations.js';
import type { Operation } from '../../../src/http/surfaces/operation.js';
import { withoutReferences } from '../document-schemas.js';

/** An operation as the API offers it: what tests of all operations work from. */
export interface Declared {
  /** Its name in `/openapi.json`, such as `portalGetNode`. */
  name: string;
  /** The name of its example, which is that of the declaration, such as `getNode`. */
  example: string;
  surface: 'public' | 'portal' | 'authzen' | 'own';
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Such as `/api/v1/nodes/{id}`. */
  url: string;
  /** Null for people's own sign-in (`/v1/auth`, `/v1/identity/auth`), which is declared route by route. */
  operation: Operation | null;
  /** Where its input has an id: `path.id`, `query.node_id`, `body.checks[].node_id`. */
  ids: string[];
  needsBody: boolean;
  /** Its query parameters, paging included. */
  query: { name: string; schema: Schema }[];
  /** Whether it requires a credential. */
  isSecured: boolean;
}

export interface Schema {
  type?: string;
  enum?: string[];
  format?: string;
  pattern?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
  anyOf?: Schema[];
  required?: string[];
}
interface Documented {
  operationId: string;
  security?: object[];
  parameters?: { in: string; name: string; schema: Schema }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
}

interface Document {
  paths: Record<string, Record<string, Documented>>;
}

const slugs = ['accountSlug', 'appSlug', 'envSlug'];
const surfaces = [
  ['public', '/api/v1/', '', environmentOperations],
  ['portal', '/portal/v1/', 'portal', portalOperations],
  ['authzen', '/access/v1/', 'authzen', authzenOperations],
] as const;

/** Returns every operation of the Public API, the Portal and AuthZEN, and those on people's own sign-in. */
export async function everyOperation(app: FastifyInstance): Promise<Declared[]> {
  const document: Document = (await app.inject('/openapi.json')).json();
  const { paths } = withoutReferences(document);
  return Object.entries(paths).flatMap(([url, methods]) =>
    Object.entries(methods).flatMap(([method, documented]) => {
      const surface = surfaces.find(([, prefix]) => url.startsWith(prefix));
      if (!surface && !/^\/v1\/(identity\/)?auth\//.test(url)) return [];
      return {
        ...shapeOf(documented),
        ...(surface ? declaration(surface, documented.operationId) : own(documented.operationId)),
        method: method.toUpperCase() as Declared['method'],
        url,
      };
    }),
  );
}

const own = (name: string) => ({ name, example: name, surface: 'own' as const, operation: null });

function declaration([surface, , prefix, operations]: (typeof surfaces)[number], name: string) {
  const nameOf = ({ id }: Operation) => (prefix ? `${prefix}${id[0]?.toUpperCase()}${id.slice(1)}` : id);
  const operation = operations.find((one) => nameOf(one) === name);
  if (!operation) throw new Error(`${name} is served, and no declaration of the ${surface} surface has made it`);
  return { name, example: operation.id, surface, operation };
}

function shapeOf({ parameters = [], requestBody, security = [] }: Documented) {
  const body = Object.values(requestBody?.content ?? {})[0]?.schema;
  const inPath = parameters.filter((one) => one.in === 'path' && !slugs.includes(one.name));
  const query = parameters.filter((one) => one.in === 'query');
  const inQuery = query.filter((one) => isId(one.schema));
  return {
    ids: [
      ...inPath.map(({ name }) => `path.${name}`),
      ...inQuery.map(({ name }) => `query.${name}`),
      ...idsOf(body, 'body'),
    ],
    needsBody: (body?.required?.length ?? 0) > 0,
    query,
    isSecured: security.length > 0 && security.every((scheme) => Object.keys(scheme).length > 0),
  };
}

/** Whether a schema accepts an id, or an id or a word. */
const isId = ({ format, pattern = '' }: Schema) => format === 'uuid' || pattern.includes('{12}');

function idsOf(schema: Schema | undefined, at: string): string[] {
  if (!schema) return [];
  if (isId(schema)) return [at];
  return [
    ...(schema.anyOf ?? []).flatMap((one) => idsOf(one, at)),
    ...Object.entries(schema.properties ?? {}).flatMap(([name, one]) => idsOf(one, `${at}.${name}`)),
    ...idsOf(schema.items, `${at}[]`),
  ];
}
