import Fastify from 'fastify';
import { createAdminLanding } from '../../src/http/admin-auth/sso-landing.js';

test('the page that asks for an application lets its form lead on to the administrators’ own', async () => {
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
  // Chromium applies it to the redirect that follows the form, too.
  expect(page.headers['content-security-policy']).toContain("form-action 'self' https://admin.example;");
  await app.close();
});
