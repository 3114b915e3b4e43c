import { type TSchema, Type } from 'typebox';
import type { EventAction } from '../../domain/event-catalogue.js';
import { text } from '../oauth/documentation-page.js';

const scimJson = 'application/scim+json';
const ErrorAnswer = Type.Object({
  schemas: Type.Array(Type.String()),
  status: Type.String(),
  scimType: Type.Optional(Type.String()),
  detail: Type.String(),
});
const Resource = Type.Object({}, { additionalProperties: true });

const projection = {
  attributes: text('Paths of the attributes that the answer has, separated by commas'),
  excludedAttributes: text('Or of those that it does not have'),
};
const list = {
  ...projection,
  filter: text('RFC 7644 §3.4.2.2, as `userName eq "ana@acme.com"`'),
  sortBy: text('Path of an attribute'),
  sortOrder: text('`ascending` or `descending`'),
  startIndex: text('From 1'),
  count: text('200 at the most; groups with their members 20'),
};

const answer = (description: string, schema: TSchema = Resource) => ({
  description,
  content: { [scimJson]: { schema } },
});
const refused = { '4xx': answer('Refused, as in RFC 7644 §3.12', ErrorAnswer) };
const done = { 204: { description: 'Done', type: 'null' } };

interface Route {
  querystring?: Record<string, TSchema>;
  takesBody?: true;
  isOfOne?: true;
}

/** What the document says of a route; it validates nothing, since refusals are SCIM's own. */
const route = (
  operationId: string,
  summary: string,
  description: string,
  answers: object,
  { querystring, takesBody, isOfOne }: Route = {},
) => ({
  operationId,
  summary,
  description,
  tags: ['SCIM'],
  security: [{ scimToken: [] }],
  ...(isOfOne && { params: Type.Object({ id: Type.String() }) }),
  ...(querystring && { querystring: Type.Object(querystring) }),
  ...(takesBody && { consumes: [scimJson], body: Resource }),
  response: { ...answers, ...refused },
});

const ok = { 200: answer('The resource') };
const asKnown = { 304: { description: 'As the `ETag` in `If-None-Match` has it', type: 'null' } };
const listed = { 200: answer('A ListResponse') };
const one = { querystring: projection, isOfOne: true } as const;
const change = { ...one, takesBody: true } as const;

const texts = {
  User: {
    list:
      'The people of the environment, or of the organization of the token, by age. Filters that an index answers (`id`, `userName`, ' +
      '`externalId`, `groups`, parts of names and addresses of three letters or more) are quick however many there are; others are refused as ' +
      '`tooMany` where too many would have to be looked at.',
    create:
      'Makes an identity, or takes in one that is there where the domain of its address is verified by who owns the directory; else 409 ' +
      '`uniqueness`.',
    read: 'With the groups that the user is in, unless `excludedAttributes` has them.',
    replace: 'What is left out is cleared, except `active`. Read-only attributes are ignored.',
    patch:
      'Operations `add`, `replace` and `remove` (RFC 7644 §3.5.2), all or none. `active: false` ends every session at once.',
    delete:
      'Ends the membership, with sessions and what was held by groups. An organization’s token ends what its directory has made.',
  },
  Group: {
    list:
      'The groups of the directory, by age, with their members unless `excludedAttributes` has them: then a page has fewer groups, so that ' +
      'go on at `startIndex` + `itemsPerPage`.',
    create: 'Its members hold the roles that are mapped to its id or name at once.',
    read: 'With all members, up to 20 000: ask with `excludedAttributes=members` where they do not matter, or with `If-None-Match`.',
    replace:
      'Name and members are as sent; who is left out goes out. Up to 1 000 members in a request: PATCH adds more.',
    patch:
      'Operations `add`, `replace` and `remove` (RFC 7644 §3.5.2), all or none. Answered by 204, unless `attributes` or ' +
      '`excludedAttributes` asks for the group.',
    delete: 'Its members lose what they held by it alone.',
  },
} as const;
const searchAll =
  'Users first, then groups. Of a kind that lacks an attribute of the filter there are none (RFC 7644 §3.4.3).';
const byBody =
  'As the list by GET, for filters that are too long for an address, or have what should be in no log (RFC 7644 §3.4.3).';

const ofKind = (kind: 'User' | 'Group') => {
  const { list: ofList, create, read, replace, patch, delete: remove } = texts[kind];
  const at = `/scim/v2/${kind}s`;
  const word = kind.toLowerCase();
  return {
    [`GET ${at}`]: route(`scimList${kind}s`, `List ${word}s`, ofList, listed, { querystring: list }),
    [`POST ${at}/.search`]: route(`scimSearch${kind}s`, `List ${word}s by a body`, byBody, listed, { takesBody: true }),
    [`POST ${at}`]: route(
      `scimCreate${kind}`,
      `Create a ${word}`,
      create,
      { 201: answer('The resource') },
      {
        querystring: projection,
        takesBody: true,
      },
    ),
    [`GET ${at}/:id`]: route(`scimGet${kind}`, `Read a ${word}`, read, { ...ok, ...asKnown }, one),
    [`PUT ${at}/:id`]: route(`scimReplace${kind}`, `Replace a ${word}`, replace, ok, change),
    [`PATCH ${at}/:id`]: route(
      `scimPatch${kind}`,
      `Change a ${word}`,
      patch,
      kind === 'Group' ? { ...ok, ...done } : ok,
      change,
    ),
    [`DELETE ${at}/:id`]: route(`scimDelete${kind}`, `Delete a ${word}`, remove, done, { isOfOne: true }),
  };
};

const document = (operationId: string, summary: string, description: string, more: Route = {}) =>
  route(operationId, summary, description, ok, more);

export const scimDocumentation: Record<string, object & { 'x-events'?: readonly EventAction[] }> = {
  'GET /scim/v2/ServiceProviderConfig': document(
    'scimGetServiceProviderConfig',
    'What the service can do',
    'Which parts of RFC 7644 are offered, and how many results a list has at the most (RFC 7643 §5).',
  ),
  'GET /scim/v2/ResourceTypes': document(
    'scimListResourceTypes',
    'Kinds of resources',
    'Users and groups, with their endpoints and schemas (RFC 7643 §6). Not filtered.',
  ),
  'GET /scim/v2/ResourceTypes/:id': document(
    'scimGetResourceType',
    'A kind of resources',
    '`User` or `Group` (RFC 7643 §6).',
    { isOfOne: true },
  ),
  'GET /scim/v2/Schemas': document(
    'scimListSchemas',
    'Schemas of the resources',
    'Every attribute that is taken, with who may write it (RFC 7643 §7). Others that are sent are ignored.',
  ),
  'GET /scim/v2/Schemas/:id': document('scimGetSchema', 'A schema', 'By its URN (RFC 7643 §7).', { isOfOne: true }),
  ...ofKind('User'),
  ...ofKind('Group'),
  'POST /scim/v2/.search': route('scimSearch', 'List users and groups by a body', searchAll, listed, {
    takesBody: true,
  }),
};
