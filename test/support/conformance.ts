import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyInstance, LightMyRequestResponse } from 'fastify';
import findMyWay from 'find-my-way';
import {
  type DocumentedOperation,
  type DocumentedResponse,
  type OpenApiDocument,
  operationsOf,
} from '../../src/http/openapi/document.js';
import { createSchemas, resolved, type Schemas } from './document-schemas.js';
import { violations } from './violations.js';

/**
 * Checks every answer that tests inject into this app against its OpenAPI document.
 * @param name of the app's set of surfaces: all apps with one name share one document
 */
export function checkAgainstDocument(app: FastifyInstance, name = 'api'): void {
  const inject = app.inject.bind(app) as (options: unknown) => Promise<LightMyRequestResponse>;
  let document: Documented | undefined;
  app.inject = (async (options: { method?: string; url?: unknown } | string) => {
    const response = await inject(options);
    const { method = 'GET', url } = typeof options === 'string' ? { url: options } : options;
    document ??= documentOf(app, name);
    violations.push(...complaintsAbout(document, { method, url: String(url) }, response));
    return response;
  }) as typeof app.inject;
}

interface Documented {
  whole: OpenApiDocument;
  schemas: Schemas;
  find(method: string, path: string): { operation: DocumentedOperation; path: string } | null;
}

const documents = new Map<string, Documented>();

/**
 * Built once a run: the first test that needs it writes it to a file for the others. Read once a process, whose test
 * files then share the compiled schemas.
 */
function documentOf(app: FastifyInstance, name: string): Documented {
  const known = documents.get(name) ?? readDocument(app, name);
  documents.set(name, known);
  return known;
}

function readDocument(app: FastifyInstance, name: string): Documented {
  const file = join(process.env.GATEHOUSE_TEST_DOCUMENTS ?? '', `${name}.json`);
  if (!existsSync(file)) {
    const own = `${file}.${process.pid}`;
    writeFileSync(own, JSON.stringify(app.swagger()));
    renameSync(own, file);
  }
  const whole: OpenApiDocument = JSON.parse(readFileSync(file, 'utf8'));
  const router = findMyWay({ maxParamLength: 300 });
  for (const { path, method, operation } of operationsOf(whole)) {
    const pattern = path.replace(/\{(\w+)\}/g, ':$1');
    router.on(method.toUpperCase() as 'GET', pattern, () => {}, { operation, path });
  }
  return {
    whole,
    schemas: createSchemas(whole),
    find: (method, path) => router.find(method.toUpperCase() as 'GET', path)?.store ?? null,
  };
}

function complaintsAbout(
  { whole, schemas, find }: Documented,
  request: { method: string; url: string },
  { statusCode, headers, body }: LightMyRequestResponse,
): string[] {
  const path = request.url.replace(/^https?:\/\/[^/]+/, '').split('?', 1)[0] as string;
  const found = find(request.method, path);
  if (!found) return [];
  const name = `${found.operation.operationId} (${request.method} ${found.path}) answered ${statusCode}`;
  const code = codeOf(body);
  // No operation has this path, for example because an id in it is too long or empty, or not with this method.
  if (code === 'route.not_found' || statusCode === 405) return [];
  const { responses } = found.operation;
  const declared = responses[statusCode];
  if (!declared) return [`${name} ${code ?? ''}, which is not documented`];
  const response = resolved(whole, declared) as DocumentedResponse;
  const complaints: string[] = [];
  const codes = response['x-error-codes'];
  if (codes && !isPage(headers) && !codes.includes(code))
    complaints.push(`${name} ${code}; documented: ${codes.join(', ')}`);
  // RFC 9110 §15.5.2
  if (statusCode === 401 && !headers['www-authenticate']) complaints.push(`${name} without WWW-Authenticate`);
  if (body === '' && response['x-body-optional']) return complaints;
  if (statusCode === 204 || !response.content) {
    return body === '' ? complaints : [...complaints, `${name} with a body, which is not documented`];
  }
  const type = String(headers['content-type']).split(';', 1)[0] as string;
  const media = response.content[type];
  if (!media) return [...complaints, `${name} as ${type}; documented: ${Object.keys(response.content).join(', ')}`];
  if (!/\bjson$/.test(type)) return complaints;
  if (body === '') return [...complaints, `${name} without the body that is documented`];
  return [...complaints, ...schemas.complaints(media.schema, JSON.parse(body)).map((text) => `${name}: ${text}`)];
}

const isPage = (headers: LightMyRequestResponse['headers']): boolean =>
  String(headers['content-type']).startsWith('text/html');

function codeOf(body: string): string | null {
  try {
    return JSON.parse(body).error?.code ?? null;
  } catch {
    return null;
  }
}
