import formbody from '@fastify/formbody';
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
    await anonymous.register(async (pages) => {
      await pages.register(formbody); // its page posts a form
      await pages.register(verifyEmail, options);
    });
    for (const route of [selectApplication, refresh, logout]) await anonymous.register(route, options);
  });
  for (const route of [register, login, me, sessions]) await app.register(route, options);
};
