import type { FastifyInstance, FastifyReply, FastifyRequest, RouteShorthandOptions } from 'fastify';
import { type TProperties, type TSchema, Type } from 'typebox';
import { actorOf, type Caller } from '../domain/caller.js';
import type { EnvironmentScope } from '../domain/scope.js';
import { currentContext } from '../platform/context.js';
import type { Services } from '../services.js';
import { ErrorEnvelope } from './errors.js';
import { replayOrClaim, settleClaim } from './idempotency.js';
import { etagOf, versionOf } from './if-match.js';
import type { Operation } from './operation.js';

/** Where operations are offered, and how their callers prove that they may. */
export interface Surface {
  name: string;
  pathOf(operation: Operation): string;
  /** Schema of the parameters that the surface's own path part has. */
  paramsOf(operation: Operation): TProperties;
  security: Record<string, string[]>[];
  describe(operation: Operation): string;
  /** Proves the credential and the right; throws the 401, 403 or 404 that belongs to it. */
  authorize(operation: Operation, request: FastifyRequest, reply: FastifyReply): Promise<Authorized>;
}

export interface Authorized {
  caller: Caller;
  /** As much of it as the operation's level has. */
  scope: Partial<EnvironmentScope> & { accountId: string };
  /** Names the credential, for its idempotency keys. */
  credential: string;
}

declare module 'fastify' {
  interface FastifyRequest {
    authorized: Authorized | null;
  }
}

/** Mounts operations on a surface: one route each, in the order 401, 403, 404, 400 (contract §10). */
export function mount(
  app: FastifyInstance,
  surface: Surface,
  operations: readonly Operation[],
  services: Services,
): void {
  for (const operation of operations) {
    app.route({
      method: operation.method,
      url: surface.pathOf(operation),
      schema: schemaOf(operation, surface),
      attachValidation: true,
      onRequest: async (request, reply) => {
        request.authorized = await surface.authorize(operation, request, reply);
        currentContext().actor = actorOf(request.authorized.caller);
      },
      preHandler: async (request, reply) => {
        await refuseInvalid(operation, request, services);
        const { credential } = request.authorized as Authorized;
        if (await replayOrClaim(services.idempotentRequests, credential, request, reply)) return reply;
      },
      onSend: async (request, reply, payload) => {
        await settleClaim(services.idempotentRequests, request, reply, payload);
        return payload;
      },
      handler: handlerOf(operation, services),
    });
  }
}

/** What is wrong with a request is said only of what exists: a 404 comes before any 400 (contract §10). */
async function refuseInvalid(operation: Operation, request: FastifyRequest, services: Services): Promise<void> {
  const { validationError } = request;
  try {
    if (validationError) throw validationError;
    if (operation.ifMatch) versionOf(request.headers['if-match']);
  } catch (invalid) {
    if (validationError?.validationContext !== 'params') await operation.exists?.(contextOf(request, services));
    throw invalid;
  }
}

function handlerOf(operation: Operation, services: Services) {
  const status = successOf(operation);
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const version = operation.ifMatch ? versionOf(request.headers['if-match']) : 0;
    const answer = await operation.handle({ ...contextOf(request, services), version });
    const answered = (answer as { data?: { version?: number } } | undefined)?.data?.version;
    if (answered !== undefined) reply.header('etag', etagOf(answered));
    return reply.code(status).send(status === 204 ? undefined : answer);
  };
}

function contextOf({ authorized, params, query, body }: FastifyRequest, services: Services) {
  const { caller, scope } = authorized as Authorized;
  return { services, scope: scope as EnvironmentScope, caller, params, query, body, version: 0 };
}

const successOf = ({ answers }: Operation): number => Math.min(...Object.keys(answers).map(Number));

function schemaOf(operation: Operation, surface: Surface): RouteShorthandOptions['schema'] & Record<string, unknown> {
  const { id, summary, tag, params, query, body, answers, method } = operation;
  const own = (params as { properties?: TProperties } | undefined)?.properties ?? {};
  const properties = { ...surface.paramsOf(operation), ...own };
  return {
    operationId: surface.name === 'public' ? id : `${surface.name}${id[0]?.toUpperCase()}${id.slice(1)}`,
    summary,
    description: [operation.description, surface.describe(operation)].filter(Boolean).join('\n\n'),
    tags: [tag],
    security: surface.security,
    ...(Object.keys(properties).length > 0 && { params: Type.Object(properties) }),
    ...(query && { querystring: query }),
    ...(body && { body }),
    headers: headersOf(operation, method),
    response: { ...commonErrors(operation), ...answers },
  };
}

/** Headers are documented, and read by hand where they count: their own codes say more than a validator. */
function headersOf({ ifMatch }: Operation, method: string): TSchema {
  return Type.Object({
    ...(method !== 'GET' && {
      'idempotency-key': Type.Optional(
        Type.String({ description: 'A retry with the same key gets the first answer again; kept 24 hours.' }),
      ),
    }),
    ...(ifMatch && {
      'if-match': Type.Optional(Type.String({ description: 'Required: the version as read, `"7"` or `7`.' })),
    }),
  });
}

function commonErrors({ ifMatch, answers, method, path }: Operation): Record<number, unknown> {
  const described = (description: string) => ({ ...ErrorEnvelope, description });
  const current = (Object.values(answers)[0] as { properties?: { data?: TSchema } }).properties?.data;
  return {
    400: described('`validation.failed`, or a refusal of a header'),
    401: described('Missing, invalid or expired credentials'),
    403: described('Wrong principal type, or the permission or capability is lacking'),
    ...(path.includes(':') && { 404: described('Does not exist, or is outside the scope of the caller') }),
    ...(ifMatch
      ? {
          409: Type.Object(
            { error: ErrorEnvelope.properties.error, ...(current && { data: Type.Optional(current) }) },
            { description: '`version.conflict`, with the resource as it is now' },
          ),
        }
      : method !== 'GET' && { 409: described('`idempotency.in_progress`') }),
    429: described('`rate_limit.exceeded`, with Retry-After'),
    503: described('`service.unavailable`, with Retry-After'),
  };
}
