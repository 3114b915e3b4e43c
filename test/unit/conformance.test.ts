import Fastify from 'fastify';
import { Type } from 'typebox';
import { openApi } from '../../src/http/openapi/index.js';
import { errors } from '../../src/http/operation.js';
import { Body, single } from '../../src/http/schemas.js';
import { holdToDocument } from '../support/conformance.js';
import { takeViolations } from '../support/violations.js';

/** An app with one operation that answers as it is told. */
async function newApp(answer: { status: number; body: unknown }) {
  const app = Fastify();
  app.setSerializerCompiler(() => JSON.stringify); // the usual one would drop what is not documented
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
  holdToDocument(app, 'conformance-test');
  return app;
}
const error = (statusCode: number, code: string) => ({
  error: { statusCode, code, message: '', timestamp: new Date().toISOString(), path: '/', method: 'POST' },
});

test.each([
  ['what is documented', { status: 200, body: { data: { to: 'a' } } }, []],
  ['a documented refusal', { status: 404, body: error(404, 'nodes.node_not_found') }, []],
  ['a status that is not documented', { status: 409, body: error(409, 'version.conflict') }, ['409 version.conflict']],
  ['a code that is not documented', { status: 404, body: error(404, 'role.not_found') }, ['404 role.not_found']],
  ['a property more', { status: 200, body: { data: { to: 'a', secret: 'b' } } }, ['"additionalProperty":"secret"']],
  ['a property less', { status: 200, body: { data: {} } }, ['"missingProperty":"to"']],
  ['a fault', { status: 500, body: error(500, 'nodes.node_not_found') }, ['answered 500']],
])('%s', async (_name, answer, complaints) => {
  const app = await newApp(answer);
  await app.inject({ method: 'POST', url: '/api/v1/things?x=1', payload: { to: 'a' } });
  const found = takeViolations();
  expect(found).toEqual(complaints.map((text) => expect.stringContaining(text)));
  await app.close();
});
