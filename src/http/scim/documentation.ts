import { type TSchema, Type } from 'typebox';
import type { EventAction } from '../../domain/events/catalogue.js';
import { text } from '../oauth/documentation/page.js';
import {
  ScimDescription,
  ScimError,
  ScimGroup,
  ScimGroupPatch,
  ScimListResponse,
  ScimSearchRequest,
  ScimUser,
  ScimUserPatch,
} from './documented-schemas.js';

const scimJson = 'application/scim+json';

const projection = {
  attributes: text('Paths of the attributes to return, separated by commas'),
  excludedAttributes: text('Paths of the attributes not to return, separated by commas', 'addresses'),
};
const list = {
  ...projection,
  filter: text('RFC 7644 §3.4.2.2, for example `userName eq "ana@acme.com"`'),
  sortBy: text('The path of an attribute'),
  sortOrder: text('`ascending` or `descending`'),
  startIndex: text('From 1'),
  count: text(
    'At most 200, and fewer users if they have a great many attributes; for groups with their members at most 20',
  ),
};

const answer = (description: string, schema: TSchema) => ({
  description,
  content: { [scimJson]: { schema } },
});
/** Each status by itself, since not all client generators know ranges. */
const refusals = {
  400: 'Not valid: see `scimType`',
  401: 'No valid SCIM token',
  403: 'Not allowed to this directory',
  404: 'Not found',
  409: 'Taken by another resource (`uniqueness`)',
  412: 'Changed in the meantime: the `ETag` does not match `If-Match`',
};
const refused = (also: readonly (keyof typeof refusals)[]) =>
  Object.fromEntries(([400, 401, ...also] as const).map((status) => [status, answer(refusals[status], ScimError)]));
const done = { 204: { description: 'Done', type: 'null' } };

interface Route {
  querystring?: Record<string, TSchema>;
  body?: TSchema;
  isOfOne?: true;
  /** Besides 400, 401 and, if `isOfOne`, 404. */
  refusedWith?: readonly (keyof typeof refusals)[];
}

/** The OpenAPI documentation of a route; it validates nothing, since refusals are SCIM's own. */
const route = (
  operationId: string,
  summary: string,
  description: string,
  answers: object,
  { querystring, body, isOfOne, refusedWith = [] }: Route = {},
) => ({
  operationId,
  summary,
  description,
  tags: ['SCIM'],
  security: [{ scimToken: [] }],
  ...(isOfOne && { params: Type.Object({ id: Type.String() }) }),
  ...(querystring && { querystring: Type.Object(querystring) }),
  ...(body && { consumes: [scimJson], body }),
  response: { ...answers, ...refused(isOfOne ? [404, ...refusedWith] : refusedWith) },
});

const asKnown = { 304: { description: 'Not modified: the `ETag` matches `If-None-Match`', type: 'null' } };
const listed = { 200: answer('A ListResponse', ScimListResponse) };
const one = { querystring: projection, isOfOne: true } as const;
/** Users can be taken over, and have values that others may have already: also if they become members of a group. */
const refusedWrite = [403, 409] as const;

const texts = {
  User: {
    list:
      'Returns the users of the environment, or of the organization of the token, oldest first. Filters that an index ' +
      'supports (`id`, `userName`, `externalId`, `groups`, parts of names and email addresses of three letters or more) ' +
      'are fast with any number of users; others are refused with `tooMany` if too many users would have to be examined.',
    create:
      'Creates an identity, or takes over an existing one if the domain of its email address is verified by the owner of ' +
      'the directory; otherwise 409 `uniqueness`.',
    read: 'Includes the groups of the user, unless `excludedAttributes` names them.',
    replace: 'Attributes that are left out are cleared, except `active`. Read-only attributes are ignored.',
    patch:
      'Operations `add`, `replace` and `remove` (RFC 7644 §3.5.2), all or none. `active: false` ends every session immediately.',
    delete:
      'Ends the membership, with its sessions and the roles held through groups. The token of an organization ends what ' +
      "the organization's directory has created.",
  },
  Group: {
    list:
      'Returns the groups of the directory, oldest first, with their members unless `excludedAttributes` names them: with ' +
      'members, a page has fewer groups, so continue at `startIndex` + `itemsPerPage`.',
    create: 'Its members immediately hold the roles that are mapped to its ID or name.',
    read: 'Includes all members, up to 20 000: send `excludedAttributes=members` if they are not needed, or `If-None-Match`.',
    replace:
      'Replaces the name and the members; members that are left out are removed. Up to 1 000 members per request: add more ' +
      'with PATCH.',
    patch:
      'Operations `add`, `replace` and `remove` (RFC 7644 §3.5.2), all or none. The response is 204, unless `attributes` ' +
      'or `excludedAttributes` asks for the group.',
    delete: 'Its members lose the roles that they held only through it.',
  },
} as const;
const searchAll =
  'Returns users first, then groups. A resource type that lacks an attribute of the filter has no results (RFC 7644 ' +
  '§3.4.3).';
const byBody =
  'Like the list by GET, for filters that are too long for a URL, or contain what must not appear in logs (RFC 7644 ' +
  '§3.4.3).';

const ofKind = (kind: 'User' | 'Group') => {
  const { list: ofList, create, read, replace, patch, delete: remove } = texts[kind];
  const at = `/scim/v2/${kind}s`;
  const word = kind.toLowerCase();
  const schema = kind === 'User' ? ScimUser : ScimGroup;
  const ok = { 200: answer('The resource', schema) };
  const write = { ...one, refusedWith: [...refusedWrite, 412] } as const;
  const refusedRemoval = kind === 'User' ? refusedWrite : [];
  return {
    [`GET ${at}`]: route(`scimList${kind}s`, `List ${word}s`, ofList, listed, { querystring: list }),
    [`POST ${at}/.search`]: route(`scimSearch${kind}s`, `Search ${word}s with a request body`, byBody, listed, {
      body: ScimSearchRequest,
    }),
    [`POST ${at}`]: route(
      `scimCreate${kind}`,
      `Create a ${word}`,
      create,
      { 201: answer('The resource', schema) },
      {
        querystring: projection,
        body: schema,
        refusedWith: [404, ...refusedWrite], // an organization may be deleted at that moment
      },
    ),
    [`GET ${at}/:id`]: route(`scimGet${kind}`, `Get a ${word}`, read, { ...ok, ...asKnown }, one),
    [`PUT ${at}/:id`]: route(`scimReplace${kind}`, `Replace a ${word}`, replace, ok, { ...write, body: schema }),
    [`PATCH ${at}/:id`]: route(
      `scimPatch${kind}`,
      `Update a ${word}`,
      patch,
      kind === 'Group' ? { ...ok, ...done } : ok,
      { ...write, body: kind === 'User' ? ScimUserPatch : ScimGroupPatch },
    ),
    [`DELETE ${at}/:id`]: route(`scimDelete${kind}`, `Delete a ${word}`, remove, done, {
      isOfOne: true,
      refusedWith: [...refusedRemoval, 412],
    }),
  };
};

const document = (operationId: string, summary: string, description: string, more: Route = {}) =>
  route(
    operationId,
    summary,
    description,
    { 200: answer('The resource', ScimDescription) },
    { ...more, refusedWith: [403] },
  );

export const scimDocumentation: Record<string, object & { 'x-events'?: readonly EventAction[] }> = {
  'GET /scim/v2/ServiceProviderConfig': document(
    'scimGetServiceProviderConfig',
    'Get the features of the service',
    'The supported parts of RFC 7644, and the maximum number of results of a list (RFC 7643 §5).',
  ),
  'GET /scim/v2/ResourceTypes': document(
    'scimListResourceTypes',
    'List resource types',
    'Users and groups, with their endpoints and schemas (RFC 7643 §6). Filters are not supported.',
  ),
  'GET /scim/v2/ResourceTypes/:id': document(
    'scimGetResourceType',
    'Get a resource type',
    '`User` or `Group` (RFC 7643 §6).',
    { isOfOne: true },
  ),
  'GET /scim/v2/Schemas': document(
    'scimListSchemas',
    'List schemas',
    'Every supported attribute, and who may write it (RFC 7643 §7). Other attributes that are sent are ignored.',
  ),
  'GET /scim/v2/Schemas/:id': document('scimGetSchema', 'Get a schema', 'By its URN (RFC 7643 §7).', { isOfOne: true }),
  ...ofKind('User'),
  ...ofKind('Group'),
  'POST /scim/v2/.search': route('scimSearch', 'Search users and groups with a request body', searchAll, listed, {
    body: ScimSearchRequest,
  }),
};
