import { Validator } from '@seriousme/openapi-schema-validator';
import { eventCatalogue } from '../../src/domain/events/catalogue.js';
import { throttles } from '../../src/http/oauth/throttles.js';
import {
  type DocumentedOperation,
  type DocumentedResponse,
  isJsonSurface,
  isReference,
  json,
  type MediaType,
  type OpenApiDocument,
  operationsOf,
  type Schema,
} from '../../src/http/openapi/document.js';
import { tags } from '../../src/http/openapi/tags.js';
import { openApiDocument } from '../../src/openapi-document.js';
import { createSchemas, resolved, type Schemas } from '../support/document-schemas.js';

let document: OpenApiDocument;
let schemas: Schemas;
beforeAll(async () => {
  document = (await openApiDocument()) as OpenApiDocument;
  schemas = createSchemas(document);
});

const jsonOperations = () =>
  [...operationsOf(document)].flatMap(({ path, method, operation }) => {
    if (!isJsonSurface(path)) return [];
    const responses = Object.entries(operation.responses).map(
      ([status, response]) => [status, resolved(document, response) as DocumentedResponse] as const,
    );
    return [{ path, method, operation, responses }];
  });

/** Returns what is wrong with the examples of a body or an answer; a missing example is wrong, too. */
function complaintsAbout(name: string, { schema, example, examples }: MediaType): string[] {
  const values = examples
    ? Object.values(examples).map((one) => (resolved(document, one as object) as { value: unknown }).value)
    : example === undefined
      ? []
      : [example];
  if (values.length === 0) return [`${name} has no example`];
  return values.flatMap((value) => schemas.complaints(schema, value).map((text) => `${name}: ${text}`));
}

test('the document is valid OpenAPI 3.0', async () => {
  const { valid, errors } = await new Validator().validate(structuredClone(document) as never);
  expect({ valid, errors }).toEqual({ valid: true, errors: undefined });
});

test('each list with `q` documents what it searches', () => {
  const silent = [...operationsOf(document)].filter(({ operation: { parameters = [] } }) => {
    const q = parameters.map((one) => resolved(document, one) as { name: string; description?: string });
    return q.some((one) => one.name === 'q' && one.description === 'Substring filter.');
  });
  expect(silent.map(({ method, path }) => `${method} ${path}`)).toEqual([]);
});

test('no name or status makes client generators write code that does not compile', () => {
  const names = Object.keys(document.components.schemas ?? {});
  const results = [...operationsOf(document)].map(({ operation: { operationId } }) =>
    `${operationId}Result`.toLowerCase(),
  );
  // orval generates a type for each operation's result.
  expect(names.filter((name) => results.includes(name.toLowerCase()))).toEqual([]);
  const statuses = [...operationsOf(document)].flatMap(({ operation }) => Object.keys(operation.responses));
  expect(statuses.filter((status) => !/^[1-5]\d\d$/.test(status))).toEqual([]);
});

test('references lead to named components: client generators follow no others', () => {
  const references = JSON.stringify(document).match(/(?<="\$ref":")[^"]+/g) ?? [];
  expect(references.length).toBeGreaterThan(0);
  expect(references.filter((one) => !/^#\/components\/\w+\/[\w.-]+$/.test(one))).toEqual([]);
});

test('every answer with an id has a name, so that the clients’ types are of resources and not of operations', () => {
  const part = (schema: object | undefined): Schema | undefined => schema && (resolved(document, schema) as Schema);
  const inline = [...operationsOf(document)].flatMap(({ operation }) =>
    answersOf(operation).flatMap(({ name, status, media }) => {
      const { data, items } = (status < '300' && part(media.schema)?.properties) || {};
      const shown = data ?? part(items)?.items;
      return shown && !isReference(shown) && shown.properties?.id ? [name] : [];
    }),
  );
  expect(inline).toEqual([]);
});

test('schemas with the same title are the same', () => {
  const texts = new Map<string, Set<string>>();
  const gather = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    const { title, type, nullable } = value as Schema;
    if (title && type === 'object' && !nullable)
      texts.set(title, (texts.get(title) ?? new Set()).add(JSON.stringify(value)));
    for (const one of Object.values(value)) gather(one);
  };
  gather(document);
  expect([...texts].filter(([, all]) => all.size > 1).map(([title]) => title)).toEqual([]);
  expect(texts.size).toBeGreaterThan(50);
});

test('client generators find nothing that trips them', () => {
  const schemas = document.components.schemas ?? {};
  // Go generates a function NewX for each X.
  expect(Object.keys(schemas).filter((name) => `New${name}` in schemas)).toEqual([]);
  const withoutMembers: string[] = [];
  const gather = (value: unknown, path: string): void => {
    if (typeof value !== 'object' || value === null) return;
    const { enum: values } = value as Schema;
    if (Array.isArray(values) && values.every((one) => one === null)) withoutMembers.push(path);
    for (const [name, one] of Object.entries(value)) gather(one, `${path}/${name}`);
  };
  gather(document, '');
  expect(withoutMembers).toEqual([]);
});

test('the tree of nodes consists of trees, and says so', () => {
  const tree = document.components.schemas?.NodeTree as Schema | undefined;
  expect(tree?.properties?.children?.items).toEqual({ $ref: '#/components/schemas/NodeTree' });
});

test('every operation has a unique id, and a group with a description', () => {
  const operations = [...operationsOf(document)].map(({ operation }) => operation);
  const ids = operations.map(({ operationId }) => operationId);
  expect(ids.filter((id, i) => !id || ids.indexOf(id) !== i)).toEqual([]);
  expect(operations.filter(({ tags: own = [] }) => own.length !== 1).map(({ operationId }) => operationId)).toEqual([]);
  expect((document.tags ?? []).map(({ name }) => name).filter((name) => !tags[name])).toEqual([]);
});

test('every operation has a line with what it does, and a sentence with what to know', () => {
  const unexplained = [...operationsOf(document)].flatMap(({ path, method, operation }) => {
    const { summary = '', description = '' } = operation as { summary?: string; description?: string };
    const isLine = summary !== '' && !/[\n.]$/.test(summary);
    return isLine && /\w.*[.)]$/s.test(description) && description !== summary ? [] : [`${method} ${path}`];
  });
  expect(unexplained).toEqual([]);
});

test('every setting of an environment and of an OAuth client that can be changed says what it does', () => {
  const plain = ['name', 'branding', 'jwks_uri']; // the name says it, or the fields inside do
  for (const id of ['portalUpdateEnvironmentSettings', 'portalUpdateOAuthClient']) {
    const update = jsonOperations().find(({ operation }) => operation.operationId === id)?.operation;
    const body = resolved(document, update?.requestBody ?? {}) as { content: Record<string, MediaType> };
    const { properties = {} } = resolved(document, body.content[json]?.schema ?? {}) as Schema;
    const settings = Object.keys(properties).filter((name) => !plain.includes(name));
    expect(settings.length).toBeGreaterThan(10);
    const descriptionOf = (name: string) => (resolved(document, properties[name] ?? {}) as Schema).description ?? '';
    expect(settings.filter((name) => !/\w.*[.)]$/s.test(descriptionOf(name)))).toEqual([]);
  }
});

test('every route with a limit of its own documents it, and only once', () => {
  const described = new Map(
    [...operationsOf(document)].map(({ path, method, operation }) => [
      `${method.toUpperCase()} ${path}`,
      (operation as { description?: string }).description ?? '',
    ]),
  );
  for (const [route, sentence] of [
    ['POST /oauth/register', 'Limit: 10 per 15 minutes and IP address.'],
    ['POST /oauth/password/reset', 'Limit: 20 per hour and IP address.'],
    ['POST /v1/auth/login', 'Limit: 5 per 15 minutes and IP address.'],
    ['POST /v1/auth/accounts', 'Limit: 10 per hour and user.'],
    ['POST /v1/auth/email', 'Limits: 5 per hour and user, and 3 per hour and email address.'],
    ['POST /v1/identity/auth/mfa/challenge/totp', 'Limit: 10 per minute and IP address.'],
  ] as const)
    expect(described.get(route)?.endsWith(` ${sentence}`)).toBe(true);
  const silent = Object.keys(throttles).filter((route) => !/ and IP address\.$/.test(described.get(route) ?? ''));
  expect(silent).toEqual([]);
  const twice = [...described].filter(([, text]) => (text.match(/ and IP address/g)?.length ?? 0) > 1);
  expect(twice).toEqual([]);
});

test('every body and every answer of a JSON surface has an example that fits its schema', () => {
  const complaints = jsonOperations().flatMap(({ operation, responses }) => {
    const { operationId, requestBody } = operation;
    const asked = Object.entries(requestBody?.content ?? {}).filter(([type]) => type === json);
    const answered = responses.flatMap(([status, { content = {} }]) =>
      Object.entries(content).flatMap(([type, media]) => (type === json ? [[status, media] as const] : [])),
    );
    return [...asked.map(([, media]) => ['request', media] as const), ...answered].flatMap(([name, media]) =>
      complaintsAbout(`${operationId} ${name}`, media),
    );
  });
  expect(complaints).toEqual([]);
});

const answersOf = ({ operationId, responses }: DocumentedOperation) =>
  Object.entries(responses).flatMap(([status, response]) =>
    Object.entries((resolved(document, response) as DocumentedResponse).content ?? {}).map(([type, media]) => ({
      name: `${operationId} ${status}`,
      status,
      type,
      media,
    })),
  );

test('every answer in JSON has a schema of its content', () => {
  const saysNothing = (schema: object): boolean => {
    const { type, anyOf, properties = {}, additionalProperties } = resolved(document, schema) as Schema;
    if (anyOf) return anyOf.some(saysNothing);
    if (type !== 'object') return type === undefined;
    // An empty object is a schema that says so.
    return Object.keys(properties).length === 0 && (additionalProperties ?? true) === true;
  };
  const silent = [...operationsOf(document)].flatMap(({ operation }) =>
    answersOf(operation).flatMap(({ name, type, media }) => (type === json && saysNothing(media.schema) ? [name] : [])),
  );
  expect(silent).toEqual([]);
});

test('every page documents what scripts get in its place, by schemas and not in words', () => {
  const pages = [...operationsOf(document)].filter(({ operation: { tags } }) => tags?.includes('Hosted login'));
  expect(pages.length).toBeGreaterThan(50);
  const missing = pages.flatMap(({ operation }) => {
    const { operationId, responses } = operation;
    const answers = answersOf(operation);
    const statusesOf = (of: string) => answers.flatMap(({ status, type }) => (type === of ? [status] : []));
    const inJson = statusesOf(json);
    const refusals = statusesOf('text/html').filter((status) => status >= '400');
    const wanted = [...refusals, ...(responses['303'] ? ['200'] : [])];
    return wanted.filter((status) => !inJson.includes(status)).map((status) => `${operationId} ${status}`);
  });
  expect(missing).toEqual([]);
  const inWords = pages.filter(({ operation }) => /`\{ ?\w/.test(JSON.stringify(operation)));
  expect(inWords.map(({ operation }) => operation.operationId)).toEqual([]);
});

test('JSON answers of pages and OAuth endpoints have examples that fit their schemas', () => {
  const complaints = [...operationsOf(document)].flatMap(({ path, operation }) =>
    isJsonSurface(path)
      ? []
      : answersOf(operation).flatMap(({ name, status, type, media }) =>
          type === json && status < '400' ? complaintsAbout(name, media) : [],
        ),
  );
  expect(complaints).toEqual([]);
});

/** The examples of an operation, each with what it is an example of. */
function examplesOf({ operationId, parameters = [], requestBody, responses }: DocumentedOperation) {
  const answers = answersOf({ operationId, responses } as DocumentedOperation).map(({ name, media }) => ({
    name,
    media,
  }));
  const bodies = Object.values(requestBody?.content ?? {}).map((media) => ({ name: `${operationId} request`, media }));
  const ofBodies = [...bodies, ...answers].flatMap(({ name, media: { example, examples = {} } }) => {
    const values = Object.values(examples).map(
      (one) => (resolved(document, one as object) as { value: unknown }).value,
    );
    return [example, ...values].map((value) => ({ name, value }));
  });
  const ofParameters = parameters.map((one) => {
    const { name, example } = resolved(document, one) as { name: string; example: unknown };
    return { name: `${operationId} parameter`, value: { [name]: example } };
  });
  return [...ofBodies, ...ofParameters];
}

/** Calls `visit` with every text in a value, and the name of the property that has it. */
function eachText(value: unknown, visit: (name: string, text: string) => void, name = ''): void {
  if (typeof value === 'string') visit(name, value);
  else if (Array.isArray(value)) for (const one of value) eachText(one, visit, name);
  else if (value && typeof value === 'object')
    for (const [key, one] of Object.entries(value)) eachText(one, visit, key);
}

test('an example is what might be sent, and not the name of its property', () => {
  const named = new Set<string>();
  for (const { operation } of operationsOf(document)) {
    for (const { value } of examplesOf(operation)) {
      eachText(value, (name, text) => {
        if (text === name || text === name.replace(/[_-]/g, ' ')) named.add(name);
      });
    }
  }
  expect([...named]).toEqual([]);
});

test('examples of keys, secrets and clients have the form that the service gives them', () => {
  const forms: [RegExp, RegExp][] = [
    [/^(createApiKey|rotateApiKey) 201 secret$/, /^ghk_live_[0-9A-Za-z]{17}_[0-9A-Za-z]{49}$/],
    [/ key_preview$/, /^ghk_(live|test)_….{4}$/],
    [/Webhook(Secret)? 20[01] secret$/, /^whsec_[A-Za-z0-9+/]{32,}={0,2}$/],
    [/Totp.* secret$/, /^[A-Z2-7]{32}$/],
    [/^portalListOAuthClients 200 client_id$/, /^[0-9a-f-]{36}$/],
    [/^listApiKeys 200 client_id$/, /^[0-9A-Za-z]{17}$/],
    [/^createWebhook request url$/, /^https:/],
    [/^claimOrganizationDomain request domain$/, /^acme\.com$/],
    [/recovery_codes$/, /^[A-Z2-7]{4}(-[A-Z2-7]{4}){3}$/],
    [/^getOpenIdConfiguration 200 token_endpoint$/, /\/oauth\/token$/],
  ];
  const found = new Set<RegExp>();
  const wrong: string[] = [];
  for (const { operation } of operationsOf(document)) {
    for (const { name: of, value } of examplesOf(operation)) {
      eachText(value, (name, text) => {
        for (const [where, form] of forms) {
          if (!where.test(`${of} ${name}`)) continue;
          found.add(where);
          if (!form.test(text)) wrong.push(`${of} ${name}: ${text}`);
        }
      });
    }
  }
  expect(wrong).toEqual([]);
  expect(found.size).toBe(forms.length);
});

test('no period of an example ends before it has begun', () => {
  const reversed: string[] = [];
  const look = (of: string, value: unknown): void => {
    if (!value || typeof value !== 'object') return;
    const { effective_from: from, effective_to: to } = value as { effective_from?: string; effective_to?: string };
    if (from && to && from >= to) reversed.push(of);
    for (const one of Object.values(value)) look(of, one);
  };
  for (const { operation } of operationsOf(document)) {
    for (const { name, value } of examplesOf(operation)) look(name, value);
  }
  expect(reversed).toEqual([]);
});

test('every 401 has a challenge (RFC 9110 §15.5.2)', () => {
  const refusals = [...operationsOf(document)].flatMap(({ operation: { operationId, responses } }) =>
    responses[401] ? [{ operationId, ...(resolved(document, responses[401]) as DocumentedResponse) }] : [],
  );
  expect(refusals.length).toBeGreaterThan(200);
  expect(refusals.filter(({ headers }) => !headers?.['WWW-Authenticate']).map((one) => one.operationId)).toEqual([]);
});

test('every parameter has an example that fits its schema', () => {
  const complaints = jsonOperations().flatMap(({ operation }) =>
    (operation.parameters ?? []).flatMap((one) => {
      const { name, schema, example } = resolved(document, one) as { name: string; schema: object; example: unknown };
      const about = `${operation.operationId} ${name}`;
      return schemas.complaints(schema, example).map((text) => `${about}: ${text}`);
    }),
  );
  expect(complaints).toEqual([]);
});

test('every refusal lists its codes', () => {
  const nameless = jsonOperations().flatMap(({ operation, responses }) =>
    responses.flatMap(([status, response]) => {
      const isPage = response.content?.[json] === undefined;
      const codes = response['x-error-codes'] ?? [];
      return status >= '400' && !isPage && codes.length === 0 ? [`${operation.operationId} ${status}`] : [];
    }),
  );
  expect(nameless).toEqual([]);
});

test('refusals before an operation is reached are documented for every operation, in the form in which it answers', () => {
  const missing = [...operationsOf(document)].flatMap(({ path, method, operation: { operationId, responses } }) => {
    if (path.startsWith('/.well-known/')) return [];
    const statuses = method === 'get' ? ['429', '503'] : ['413', '415', '429', '503'];
    return statuses.filter((status) => !responses[status]).map((status) => `${operationId} ${status}`);
  });
  expect(missing).toEqual([]);
  const typesOf = (path: string, status: string) => {
    const response = document.paths[path]?.post?.responses[status] as object;
    return Object.keys((resolved(document, response) as DocumentedResponse).content ?? {});
  };
  expect(typesOf('/oauth/token', '415')).toEqual([json]);
  expect(typesOf('/oauth/mfa-challenge', '503')).toEqual(['text/html', json]);
  expect(typesOf('/scim/v2/Users', '503')).toEqual(['application/scim+json']);
});

test('refusals that are the same nearly everywhere are defined once, as the APIs answer them', () => {
  const api = jsonOperations().filter(({ path }) => path.startsWith('/api/v1/'));
  const inPlace = api.flatMap(({ operation: { operationId, responses } }) =>
    ['401', '413', '415', '429', '503']
      .filter((status) => responses[status] && !isReference(responses[status]))
      .map((status) => `${operationId} ${status}`),
  );
  expect(inPlace).toEqual([]);
});

test('every operation documents who may call it', () => {
  const missing = jsonOperations().flatMap(({ path, operation }) => {
    if (!operation.security) return [`${operation.operationId}: security`];
    const extension = path.startsWith('/portal/') ? 'x-capability' : 'x-permission';
    return path.startsWith('/v1/') || extension in operation ? [] : [`${operation.operationId}: ${extension}`];
  });
  expect(missing).toEqual([]);
});

test('every operation that may write documents the events that it records', () => {
  const missing = [...operationsOf(document)].flatMap(({ method, operation }) => {
    const events = operation['x-events'] as string[] | undefined;
    if (!events) return method === 'get' ? [] : [`${operation.operationId} names none`];
    return events.filter((one) => !(one in eventCatalogue)).map((one) => `${operation.operationId}: ${one}`);
  });
  expect(missing).toEqual([]);
});

test('operations that require the version that was read say so', () => {
  const updateNode = document.paths['/api/v1/nodes/{id}']?.patch;
  const [, , ifMatch] = updateNode?.parameters ?? [];
  expect(ifMatch && isReference(ifMatch) ? resolved(document, ifMatch) : null).toMatchObject({
    name: 'If-Match',
    in: 'header',
    required: true,
  });
  const answers = updateNode?.responses ?? {};
  expect((answers[200] as DocumentedResponse).headers).toHaveProperty('ETag');
  expect((answers[409] as DocumentedResponse)['x-error-codes']).toContain('version.conflict');
});
