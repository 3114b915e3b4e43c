import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { Users } from '../../domain/users/users.js';
import type { AdminPrincipals } from '../principals/admin.js';
import { credentialsOf } from '../principals/credentials.js';
import type { RateLimits } from '../rate-limits.js';
import { login } from './login.js';
import { logout } from './logout.js';
import { me } from './me.js';
import { refresh } from './refresh.js';
import { register } from './register.js';
import { selectApplication } from './select-application.js';
import { sessions } from './sessions.js';
import { verifyEmail } from './verify-email.js';

export interface AdminAuthOptions {
  users: Users;
  admins: AdminPrincipals;
  limits: RateLimits;
  baseUrl: string;
}

/** Admin authentication, `/v1/auth`: a file's name is its path. */
export const adminAuth: FastifyPluginAsyncTypebox<AdminAuthOptions> = async (
  app,
  { users, admins, limits, baseUrl },
) => {
  const options = { users, admins, limits, baseUrl }; // and not the prefix, which would be prepended again
  app.addHook('onRequest', async (request) => void credentialsOf(request)); // never two credentials
  // Without a credential there is only the address to count by. Two routes have limits of their own (specification,
  // "Limits"), and an access token brings its own.
  await app.register(async (anonymous) => {
    anonymous.addHook('onRequest', (request, reply) => limits.general('anonymous', request.ip, reply));
    await anonymous.register(verifyEmail, options); // its page posts a form
    await anonymous.register(onlyJson(selectApplication, refresh, logout), options);
  });
  await app.register(onlyJson(register, login, me, sessions), options);
};

/** Without this, a form on any page could be posted here, and the browser would not ask first. */
const onlyJson =
  (...routes: FastifyPluginAsyncTypebox<AdminAuthOptions>[]): FastifyPluginAsyncTypebox<AdminAuthOptions> =>
  async (app, options) => {
    app.removeContentTypeParser(['application/x-www-form-urlencoded', 'text/plain']);
    for (const route of routes) await app.register(route, options);
  };
