import type { FastifyPluginAsync, FastifyRequest } from 'fastify';
import type { AuthenticatedDirectory } from '../../domain/scim/authenticate.js';
import { ScimRefused } from '../../domain/scim/refusal.js';
import { maxValues } from '../../domain/scim/values.js';
import { inShareOf } from '../../platform/context.js';
import { proveScimToken } from '../principals/scim-token.js';
import { readJsonAs } from '../server/json-bodies.js';
import { proving } from '../surfaces/proofs.js';
import { discovery } from './discovery.js';
import { sendScimError } from './errors.js';
import { groups } from './groups.js';
import type { ScimOptions } from './options.js';
import { search } from './search.js';
import { users } from './users.js';

/**
 * The bounds of a JSON body, since SCIM has no schemas here: each of a thousand members can be an operation of its own
 * with all sub-attributes, which is some ten parts; and twice that, so that a client that sends a few too many learns
 * which they are.
 */
const extent = { parts: 2 * 12 * maxValues, widest: 3 * maxValues };

/** Provisioning of people and groups by the directories of customers, `/scim/v2` (RFC 7643, RFC 7644). */
export const scim: FastifyPluginAsync<ScimOptions> = async (app, { baseUrl: serviceUrl, ...rest }) => {
  const options = { ...rest, baseUrl: `${serviceUrl}/scim/v2` };
  for (const type of ['application/scim+json', 'application/json']) readJsonAs(app, type, extent);
  app.setErrorHandler(async (error, request, reply) => {
    const isDenied = error instanceof ScimRefused && error.kind === 'forbidden' && request.directory;
    try {
      if (isDenied) await options.denied(request.directory as AuthenticatedDirectory, operationOf(request));
    } catch (failure) {
      return sendScimError(failure, request, reply); // rethrown, it would be answered as an error of another surface
    }
    return sendScimError(error, request, reply);
  });
  app.setNotFoundHandler((request, reply) => sendScimError(app.refusalOfUnknown(request, reply), request, reply));
  app.decorateRequest('directory', null);
  const prove = proving(async (request, reply) => {
    request.directory = await proveScimToken(options, request, reply);
    inShareOf(request.directory.scope.accountId);
  });
  app.addHook('onRequest', prove);
  discovery(app, options);
  users(app, options);
  groups(app, options);
  search(app, options);
  for (const path of ['/Bulk', '/Me']) {
    app.all(path, { schema: { hide: true } }, async () => {
      throw new ScimRefused('notImplemented', `${path} is not offered`);
    });
  }
};

const operationOf = ({ method, routeOptions }: FastifyRequest): string => `${method} ${routeOptions.url}`;
