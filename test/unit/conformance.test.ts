import Fastify from 'fastify';
import { Type } from 'typebox';
import { openApi } from '../../src/http/openapi/index.js';
import { errors } from '../../src/http/surfaces/operation.js';
import { Body, single } from '../../src/http/surfaces/schemas.js';
import { checkAgainstDocument } from '../support/conformance.js';
import { takeViolations } from '../support/violations.js';

/** Creates an app with operations that answer as told. */
async function newApp(answer: { status: number; body?: unknown; type?: string; challenge?: string }) {
  const app = Fastify();
  app.setSerializerCompiler(() => JSON.stringify); // the usual one would drop undocumented fields
  await app.register(openApi, { baseUrl: 'http://localhost' });
  const schema = {
    operationId: 'moveThing',
    tags: ['Hierarchy'],
    body: Body({ to: Type.String() }),
    response: { 200: single(Type.Object({ to: Type.String() })), ...errors('nodes.node_not_found') },
  };
  app.post('/api/v1/things', { schema }, async (_request, reply) =>
    reply.code(answer.status as 200).send(answer.body as never),
  );
  // A page and an OAuth endpoint, which the document describes besides their routes.
  for (const [method, url] of [
    ['GET', page],
    ['GET', '/oauth/userinfo'],
  ] as const) {
    app.route({
      method,
      url,
      handler: async (_request, reply) =>
        reply
          .code(answer.status)
          .headers(answer.challenge ? { 'www-authenticate': answer.challenge } : {})
          .type(answer.type ?? 'application/json')
          .send(answer.body),
    });
  }
  checkAgainstDocument(app, 'conformance-test');
  return app;
}
const page = '/oauth/verify-email';
const error = (statusCode: number, code: string) => ({
  error: { statusCode, code, message: '', timestamp: new Date().toISOString(), path: '/', method: 'POST' },
});

test.each([
  ['what is documented', { status: 200, body: { data: { to: 'a' } } }, []],
  ['a documented refusal', { status: 404, body: error(404, 'nodes.node_not_found') }, []],
  ['a status that is not documented', { status: 409, body: error(409, 'version.conflict') }, ['409 version.conflict']],
  ['a code that is not documented', { status: 404, body: error(404, 'role.not_found') }, ['404 role.not_found']],
  ['a property too many', { status: 200, body: { data: { to: 'a', secret: 'b' } } }, ['"additionalProperty":"secret"']],
  ['a missing property', { status: 200, body: { data: {} } }, ['"missingProperty":"to"']],
  ['a fault', { status: 500, body: error(500, 'nodes.node_not_found') }, ['answered 500']],
])('%s', async (_name, answer, complaints) => {
  const app = await newApp(answer);
  await app.inject({ method: 'POST', url: '/api/v1/things?x=1', payload: { to: 'a' } });
  const found = takeViolations();
  expect(found).toEqual(complaints.map((text) => expect.stringContaining(text)));
  await app.close();
});

const link = { email: 'ana@example.com', asks: 'click' };
const refusal = { error: 'invalid_request', error_description: 'the link is unknown' };

test.each([
  ['a page', page, { status: 200, body: '<p>', type: 'text/html' }, []],
  ['what a script gets instead of a page', page, { status: 200, body: link }, []],
  ['a refusal in JSON', page, { status: 400, body: refusal }, []],
  ['a property too many', page, { status: 200, body: { ...link, secret: 'b' } }, ['"additionalProperty":"secret"']],
  [
    'a page with a status that is not documented',
    page,
    { status: 409, body: '<p>', type: 'text/html' },
    ['answered 409'],
  ],
  ['a type that is not documented', page, { status: 200, body: 'a', type: 'text/plain' }, ['as text/plain']],
  ['a refusal of OAuth', '/oauth/userinfo', { status: 401, body: refusal, challenge: 'Bearer' }, []],
  ['a challenge without a body (RFC 6750)', '/oauth/userinfo', { status: 401, challenge: 'Bearer' }, []],
  ['a challenge without its scheme', '/oauth/userinfo', { status: 401, body: refusal }, ['without WWW-Authenticate']],
  ['another answer without its body', '/oauth/userinfo', { status: 403 }, ['answered 403']],
])('of pages and OAuth: %s', async (_name, url, answer, complaints) => {
  const app = await newApp(answer);
  await app.inject({ method: 'GET', url: `${url}?x=1` });
  const found = takeViolations();
  expect(found).toEqual(complaints.map((text) => expect.stringContaining(text)));
  await app.close();
});
