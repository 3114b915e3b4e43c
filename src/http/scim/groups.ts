import type { FastifyInstance } from 'fastify';
import type { GroupWithMembers } from '../../domain/scim/groups/groups.js';
import { groupVersion, presentGroup } from '../../domain/scim/groups/resource.js';
import { groupKind } from '../../domain/scim/kinds.js';
import { readPatch } from '../../domain/scim/patch.js';
import { type Projection, projected, wants } from '../../domain/scim/projection.js';
import { readResource } from '../../domain/scim/values.js';
import { groupEvents } from '../event-lists/scim.js';
import { directoryOf } from './directory.js';
import { scimType } from './errors.js';
import type { ScimOptions } from './options.js';
import { sendResource } from './resources.js';
import { expectedBy, listRequestOf, listResponse, projectionOf, searchOf } from './shapes.js';

const kind = groupKind;
const maxWithMembers = 20;

const hasMembers = (projection: Projection) => wants(kind, projection, 'members');

/** A group may have thousands of members: a page with members has fewer groups (RFC 7644 §3.4.2.4 allows that). */
export const groupsOnPage = (count: number, projection: Projection): number =>
  hasMembers(projection) ? Math.min(count, maxWithMembers) : count;

interface Of {
  Params: { id: string };
  Querystring: Record<string, unknown>;
}

/** `/scim/v2/Groups` (RFC 7644 §3). */
export function groups(app: FastifyInstance, { groups: service, baseUrl }: ScimOptions): void {
  const resource = ({ group, members }: GroupWithMembers) => presentGroup(group, members, baseUrl);
  const answerOf = (found: GroupWithMembers, projection: Projection) => ({
    kind,
    resource: resource(found),
    projection,
  });

  const list = async (request: Parameters<typeof directoryOf>[0], parameters: Record<string, unknown>) => {
    const [wanted, projection] = [listRequestOf(parameters), projectionOf(parameters)];
    const page = { ...wanted, count: groupsOnPage(wanted.count, projection) };
    const { total, rows } = await service.list(directoryOf(request), page, hasMembers(projection));
    const resources = rows.map((one) => projected(kind, resource(one), projection));
    return listResponse(resources, { total, startIndex: wanted.startIndex });
  };

  app.get<Of>('/Groups', async (request, reply) => reply.type(scimType).send(await list(request, request.query)));
  app.post('/Groups/.search', { config: { events: [] } }, async (request, reply) =>
    reply.type(scimType).send(await list(request, searchOf(request.body))),
  );

  app.get<Of>('/Groups/:id', async (request, reply) => {
    const projection = projectionOf(request.query);
    const isKnown = expectedBy(request.headers['if-none-match']);
    const wantsMembers = (version: string) => hasMembers(projection) && !isKnown?.(version);
    const found = await service.get(directoryOf(request), request.params.id, wantsMembers);
    return sendResource(request, reply, answerOf(found, projection));
  });

  app.post<Of>('/Groups', { config: { events: groupEvents } }, async (request, reply) => {
    const projection = projectionOf(request.query);
    const found = await service.create(directoryOf(request), readResource(kind, request.body), hasMembers(projection));
    return sendResource(request, reply, answerOf(found, projection), 201);
  });

  app.put<Of>('/Groups/:id', { config: { events: groupEvents } }, async (request, reply) => {
    const projection = projectionOf(request.query);
    const wanted = readResource(kind, request.body);
    const isExpected = expectedBy(request.headers['if-match']);
    const isWithMembers = hasMembers(projection);
    const found = await service.replace(directoryOf(request), request.params.id, isExpected, wanted, isWithMembers);
    return sendResource(request, reply, answerOf(found, projection));
  });

  app.patch<Of>('/Groups/:id', { config: { events: groupEvents } }, async (request, reply) => {
    const projection = projectionOf(request.query);
    const operations = readPatch(kind, request.body);
    const isExpected = expectedBy(request.headers['if-match']);
    // Nobody who adds one member wants thousands back, unless they ask for them (RFC 7644 §3.5.2 allows both).
    const { attributes, excludedAttributes } = request.query;
    const isAnswered = attributes !== undefined || excludedAttributes !== undefined;
    const isWithMembers = isAnswered && hasMembers(projection);
    const found = await service.patch(directoryOf(request), request.params.id, isExpected, operations, isWithMembers);
    if (!isAnswered) return reply.code(204).header('etag', groupVersion(found.group)).send();
    return sendResource(request, reply, answerOf(found, projection));
  });

  app.delete<Of>('/Groups/:id', { config: { events: groupEvents } }, async (request, reply) => {
    await service.remove(directoryOf(request), request.params.id, expectedBy(request.headers['if-match']));
    return reply.code(204).send();
  });
}
