import type { FastifyInstance } from 'fastify';
import { userKind } from '../../domain/scim/kinds.js';
import { readPatch } from '../../domain/scim/patch.js';
import { type Projection, projected, wants } from '../../domain/scim/projection.js';
import type { Resource } from '../../domain/scim/schema.js';
import { patchedUser, presentUser } from '../../domain/scim/users/resource.js';
import type { UserWithGroups } from '../../domain/scim/users/users.js';
import { readResource } from '../../domain/scim/values.js';
import { userEvents } from '../event-lists/scim.js';
import { directoryOf } from './directory.js';
import { scimType } from './errors.js';
import type { ScimOptions } from './options.js';
import { sendResource } from './resources.js';
import { expectedBy, listRequestOf, listResponse, projectionOf, searchOf } from './shapes.js';

const kind = userKind;
interface Of {
  Params: { id: string };
  Querystring: Record<string, unknown>;
}

/** `/scim/v2/Users` (RFC 7644 §3). */
export function users(app: FastifyInstance, { users: service, baseUrl }: ScimOptions): void {
  const resource = ({ row, groups }: UserWithGroups) => presentUser(row, groups, baseUrl);
  const answerOf = (found: UserWithGroups, projection: Projection) => ({ kind, resource: resource(found), projection });

  const list = async (request: Parameters<typeof directoryOf>[0], parameters: Record<string, unknown>) => {
    const [wanted, projection] = [listRequestOf(parameters), projectionOf(parameters)];
    const isWithGroups = wants(kind, projection, 'groups');
    const { total, rows } = await service.list(directoryOf(request), wanted, isWithGroups);
    const resources = rows.map((one) => projected(kind, resource(one), projection));
    return listResponse(resources, { total, startIndex: wanted.startIndex });
  };

  app.get<Of>('/Users', async (request, reply) => reply.type(scimType).send(await list(request, request.query)));
  app.post('/Users/.search', { config: { events: [] } }, async (request, reply) =>
    reply.type(scimType).send(await list(request, searchOf(request.body))),
  );

  app.get<Of>('/Users/:id', async (request, reply) => {
    const projection = projectionOf(request.query);
    const isWithGroups = wants(kind, projection, 'groups');
    const found = await service.get(directoryOf(request), request.params.id, isWithGroups);
    return sendResource(request, reply, answerOf(found, projection));
  });

  app.post<Of>('/Users', { config: { events: userEvents } }, async (request, reply) => {
    const projection = projectionOf(request.query);
    const found = await service.create(directoryOf(request), readResource(kind, request.body));
    return sendResource(request, reply, answerOf(found, projection), 201);
  });

  app.put<Of>('/Users/:id', { config: { events: userEvents } }, async (request, reply) => {
    const projection = projectionOf(request.query);
    const wanted = readResource(kind, request.body);
    const isExpected = expectedBy(request.headers['if-match']);
    const found = await service.update(directoryOf(request), request.params.id, isExpected, () => wanted, {
      isWhole: true,
    });
    return sendResource(request, reply, answerOf(found, projection));
  });

  app.patch<Of>('/Users/:id', { config: { events: userEvents } }, async (request, reply) => {
    const projection = projectionOf(request.query);
    const operations = readPatch(kind, request.body);
    const isExpected = expectedBy(request.headers['if-match']);
    const changed = (before: Resource) => patchedUser(before, operations);
    const found = await service.update(directoryOf(request), request.params.id, isExpected, changed, {
      isWhole: false,
    });
    return sendResource(request, reply, answerOf(found, projection));
  });

  app.delete<Of>('/Users/:id', { config: { events: userEvents } }, async (request, reply) => {
    await service.remove(directoryOf(request), request.params.id, expectedBy(request.headers['if-match']));
    return reply.code(204).send();
  });
}
