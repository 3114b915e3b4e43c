import fastify, { type FastifyInstance } from 'fastify';
import { readForms } from '../../src/http/browsers/form-bodies.js';
import { sendError } from '../../src/http/errors.js';

let app: FastifyInstance;
beforeAll(async () => {
  app = fastify();
  app.setErrorHandler(sendError);
  readForms(app);
  readForms(app, { bodyLimit: 10 }); // a part of the app that reads them, too
  app.post('/', async ({ body }) => body);
  await app.register(async (part) => {
    readForms(part);
    part.post('/part', async ({ body }) => body);
  });
});
afterAll(() => app.close());

const send = (payload: string, url = '/') =>
  app.inject({ method: 'POST', url, headers: { 'content-type': 'application/x-www-form-urlencoded' }, payload });

test('fields are read as they were sent, and a repeated one is repeated', async () => {
  const form = 'email=ana%40acme.example&name=Gr%C3%BC%C3%9Fe+Ana&twice=1&twice=2&empty=&bare';
  for (const url of ['/', '/part']) {
    expect((await send(form, url)).json()).toEqual({
      email: 'ana@acme.example',
      name: 'Gr\u00fc\u00dfe Ana',
      twice: ['1', '2'],
      empty: '',
      bare: '',
    });
  }
});

test('a form with far too many fields is refused before it is read', async () => {
  const fields = (count: number) => Array.from({ length: count }, (_, i) => `f${i}=`).join('&');
  expect(Object.keys((await send(fields(1001))).json())).toHaveLength(1001);
  const details = [{ field: '', code: 'too_many', message: 'has far more fields than can be meant' }];
  for (const form of [fields(1002), '&'.repeat(500_000)])
    expect((await send(form)).json().error).toMatchObject({ code: 'validation.failed', details });
});

test('a part of an app that reads forms first has its own limit of bytes', async () => {
  const other = fastify();
  await other.register(async (part) => {
    readForms(part, { bodyLimit: 10 });
    part.post('/', async ({ body }) => body);
  });
  const statusOf = async (payload: string) => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    return (await other.inject({ method: 'POST', url: '/', headers, payload })).statusCode;
  };
  expect([await statusOf('a=23456789'), await statusOf('a=234567890')]).toEqual([200, 413]);
  await other.close();
});
