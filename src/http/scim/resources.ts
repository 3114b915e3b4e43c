import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Projection, projected, wants } from '../../domain/scim/projection.js';
import type { Resource, ResourceKind } from '../../domain/scim/schema.js';
import { scimType } from './errors.js';
import { expectedBy } from './shapes.js';

/** Answers a resource with its ETag, and the part of it that is asked for; 304 where the client has it already. */
export function sendResource(
  request: FastifyRequest,
  reply: FastifyReply,
  { kind, resource, projection }: { kind: ResourceKind; resource: Resource; projection: Projection },
  status = 200,
): FastifyReply {
  const { version, location } = resource.meta as { version: string; location: string };
  reply.header('etag', version).type(scimType);
  if (status === 201) reply.header('location', location);
  const isKnown = request.method === 'GET' && expectedBy(request.headers['if-none-match'])?.(version);
  return isKnown ? reply.code(304).send() : reply.code(status).send(projected(kind, resource, projection));
}

/** Whether what costs a look-up of its own is part of the answer. */
export const isAsked = (kind: ResourceKind, projection: Projection, name: string): boolean =>
  wants(kind, projection, name);
