import type { FastifyInstance } from 'fastify';
import { targetOf } from '../../domain/scim/filters/attribute-path.js';
import type { Filter } from '../../domain/scim/filters/syntax.js';
import { presentGroup } from '../../domain/scim/groups/resource.js';
import { groupKind, userKind } from '../../domain/scim/kinds.js';
import type { Found, ListRequest } from '../../domain/scim/lists.js';
import { type Projection, projected, wants } from '../../domain/scim/projection.js';
import type { Resource, ResourceKind } from '../../domain/scim/schema.js';
import { presentUser } from '../../domain/scim/users/resource.js';
import { directoryOf } from './directory.js';
import { scimType } from './errors.js';
import { groupsOnPage } from './groups.js';
import type { ScimOptions } from './options.js';
import { listRequestOf, listResponse, projectionOf, searchOf } from './shapes.js';

/**
 * `/scim/v2/.search`: Users first, then Groups (RFC 7644 §3.4.3). A kind that lacks an attribute of the filter has no
 * matches.
 */
export function search(app: FastifyInstance, { users, groups, baseUrl }: ScimOptions): void {
  app.post('/.search', { config: { events: [] } }, async (request, reply) => {
    const parameters = searchOf(request.body);
    const [wanted, projection] = [listRequestOf(parameters), projectionOf(parameters)];
    const directory = directoryOf(request);
    const ofUsers = async (one: ListRequest): Promise<Found<Resource>> => {
      const { total, rows } = await users.list(directory, one, wants(userKind, projection, 'groups'));
      return { total, rows: rows.map(({ row, groups: theirs }) => presentUser(row, theirs, baseUrl)) };
    };
    const ofGroups = async (one: ListRequest): Promise<Found<Resource>> => {
      const { total, rows } = await groups.list(directory, one, wants(groupKind, projection, 'members'));
      return { total, rows: rows.map(({ group, members }) => presentGroup(group, members, baseUrl)) };
    };
    const first = await part(userKind, wanted, projection, ofUsers);
    // Groups follow the last User, and not one where the page has ended early.
    const isLast = first.rows.length >= Math.min(wanted.count, first.total - wanted.startIndex + 1);
    const left = isLast ? groupsOnPage(wanted.count - first.rows.length, projection) : 0;
    const startIndex = Math.max(1, wanted.startIndex - first.total);
    const second = await part(groupKind, { ...wanted, startIndex, count: left }, projection, ofGroups);
    const total = first.total + second.total;
    return reply
      .type(scimType)
      .send(listResponse([...first.rows, ...second.rows], { total, startIndex: wanted.startIndex }));
  });
}

async function part(
  kind: ResourceKind,
  { sortBy, ...wanted }: ListRequest,
  projection: Projection,
  list: (request: ListRequest) => Promise<Found<Resource>>,
): Promise<Found<Resource>> {
  if (wanted.filter && !isAbout(kind, wanted.filter)) return { total: 0, rows: [] };
  const isSorted = sortBy !== null && targetOf(kind, sortBy)?.attribute;
  const { total, rows } = await list({ ...wanted, sortBy: isSorted ? sortBy : null });
  return { total, rows: rows.map((one) => projected(kind, one, projection)) };
}

/** Whether the kind has every attribute that a filter names. */
function isAbout(kind: ResourceKind, filter: Filter): boolean {
  if ('filters' in filter) return filter.filters.every((one) => isAbout(kind, one));
  if (filter.op === 'not') return isAbout(kind, filter.filter);
  return targetOf(kind, filter.path) !== null;
}
