import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Projection, projected } from '../../domain/scim/projection.js';
import type { Resource, ResourceKind } from '../../domain/scim/schema.js';
import { scimType } from './errors.js';
import { expectedBy } from './shapes.js';

/** Answers with the requested part of a resource and its ETag; 304 if the client has it already. */
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
