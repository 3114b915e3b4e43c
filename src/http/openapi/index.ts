import fastifySwagger from '@fastify/swagger';
import fastifySwaggerUi from '@fastify/swagger-ui';
import type { FastifyReply } from 'fastify';
import fastifyPlugin from 'fastify-plugin';
import { DomainError } from '../../domain/errors.js';
import { oauthDocumentation } from '../oauth/documentation/documentation.js';
import { gate } from '../pages/icon.js';
import { scimDocumentation } from '../scim/documentation.js';
import { completed } from './complete.js';
import type { OpenApiDocument } from './document.js';
import { limitsInWords } from './limits.js';

const description = `Hosted sign-in, administration of accounts, and permissions in one service.

Errors have one format, with a stable \`code\`. Lists take \`page\`, \`take\`, \`q\`, \`sort_by\` and \`order\`, and return the
next page in \`Link\`. Writes take an \`Idempotency-Key\` where it is listed. Elsewhere it is ignored: a response is only
returned again to the caller who got it first, and before a sign-in nobody is known. A registration that is sent twice
mails two links, and confirming one ends the other. Resources with a \`version\` are changed with \`If-Match\`; for others
a version in it is refused (400). In the Public and the Portal API, an operation with query parameters refuses others (400,
\`unknown_field\`), and one without ignores them. Requests that are refused before they reach an operation get an error of
the same format: \`request.malformed\` (400), \`request.timed_out\` (408), \`request.headers_too_large\` (431, if the URL
and the headers exceed 16 KiB).`;

/** Serves the OpenAPI 3.0 document of all routes with a schema, and readable pages of it at `/docs`. */
export const openApi = fastifyPlugin<{ baseUrl: string }>(async (app, { baseUrl }) => {
  await app.register(fastifySwagger, {
    transform({ schema, url, route }) {
      const name = `${route.method} ${url}`;
      const documented = schema ?? oauthDocumentation[name] ?? (scimDocumentation[name] as typeof schema);
      if (!documented) return { url, schema: documented };
      const { events } = route.config ?? {};
      const sentences = [documented.description, limitsInWords(route)].filter(Boolean);
      return {
        url,
        schema: { ...documented, description: sentences.join(' '), ...(events && { 'x-events': events }) },
      };
    },
    transformObject: (made) =>
      'openapiObject' in made
        ? (completed(made.openapiObject as unknown as OpenApiDocument) as typeof made.openapiObject)
        : made.swaggerObject,
    openapi: {
      openapi: '3.0.3',
      info: { title: 'Gatehouse', version: '1.0', description },
      servers: [{ url: baseUrl }],
      components: {
        securitySchemes: {
          bearer: {
            type: 'http',
            scheme: 'bearer',
            bearerFormat: 'JWT',
            description: 'An access token: of an end user for the Public API, of an administrator for the Portal API.',
          },
          scimToken: { type: 'http', scheme: 'bearer', description: 'A SCIM token of the account.' },
          apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key', description: 'An API key of the environment.' },
        },
      },
    },
  });
  // The serialized document: it has three megabytes, which take a while to write, and anybody may request it often.
  let bytes: Buffer | undefined;
  const sendDocument = (reply: FastifyReply) => {
    bytes ??= Buffer.from(JSON.stringify(app.swagger()));
    return reply.type('application/json; charset=utf-8').header('cache-control', 'public, max-age=300').send(bytes);
  };
  app.get('/openapi.json', { schema: { hide: true } }, async (_request, reply) => sendDocument(reply));
  await app.register(fastifySwaggerUi, {
    routePrefix: '/docs',
    uiHooks: {
      // The plugin itself would serialize the document for each request; YAML takes seconds, and nobody reads it.
      onRequest(request, reply, done) {
        if (request.routeOptions.url === '/docs/json') return void sendDocument(reply);
        done(request.routeOptions.url === '/docs/yaml' ? new DomainError('route.not_found') : undefined);
      },
    },
    staticCSP: true,
    // WebKit also upgrades the requests of a page on loopback: without TLS there, the page would show nothing.
    transformStaticCSP: (policy) =>
      policy.replaceAll(/(base-uri|frame-ancestors) 'self'/g, "$1 'none'").replace(/ ?upgrade-insecure-requests;/, ''),
    // For five hundred operations: first only tags, each operation with its own link, and no bar for other documents.
    uiConfig: { docExpansion: 'none', deepLinking: true, filter: true, layout: 'BaseLayout' },
    theme: {
      title: 'Gatehouse API reference',
      favicon: [{ filename: 'favicon.svg', rel: 'icon', type: 'image/svg+xml', sizes: 'any', content: gate }],
    },
  });
});
