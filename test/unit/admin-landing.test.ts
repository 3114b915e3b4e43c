import Fastify from 'fastify';
import { createAdminLanding } from '../../src/http/admin-auth/sso-landing.js';

test('the page that asks for an application lets its form redirect to the administrators’ own', async () => {
  const landing = createAdminLanding({ baseUrl: 'https://id.example', adminAppUrl: 'https://admin.example/start' });
  const app = Fastify();
  const account = { id: 'a', name: 'Acme', slug: 'acme' };
  app.get('/', (request, reply) =>
    landing.arrived(request, reply, {
      outcome: 'application_selection_required',
      selectionToken: 'token',
      applications: [{ id: 'b', name: 'Shop', slug: 'shop', account }],
    }),
  );
  const page = await app.inject({ url: '/', headers: { accept: 'text/html' } });
  // Chromium also applies it to the redirect after the form.
  expect(page.headers['content-security-policy']).toContain("form-action 'self' https:;");
  await app.close();
});

test('without an application that could ask for the second factor, a person is told so, and a program gets the token', async () => {
  const landing = createAdminLanding({ baseUrl: 'https://id.example', adminAppUrl: 'https://id.example' });
  const app = Fastify();
  app.get('/', (request, reply) =>
    landing.arrived(request, reply, {
      outcome: 'mfa_required',
      challengeToken: 'a token',
      availableFactors: ['totp'],
      expiresAt: new Date(0),
    }),
  );
  const page = await app.inject({ url: '/', headers: { accept: 'text/html' } });
  expect([page.statusCode, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
  expect(page.body).toContain('One more step is missing');
  expect(page.body).not.toContain('a token');
  const program = await app.inject({ url: '/', headers: { accept: 'application/json' } });
  expect(program.json().data).toMatchObject({ outcome: 'mfa_required', challenge_token: 'a token' });
  await app.close();
});
