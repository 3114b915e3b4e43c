import { type TSchema, Type } from 'typebox';
import type { EventAction } from '../../domain/event-catalogue.js';
import { text } from '../oauth/documentation-login.js';

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
  answers: object,
  { querystring, takesBody, isOfOne }: Route = {},
) => ({
  operationId,
  summary,
  tags: ['SCIM'],
  security: [{ scimToken: [] }],
  ...(isOfOne && { params: Type.Object({ id: Type.String() }) }),
  ...(querystring && { querystring: Type.Object(querystring) }),
  ...(takesBody && { consumes: [scimJson], body: Resource }),
  response: { ...answers, ...refused },
});

const ok = { 200: answer('The resource') };
const listed = { 200: answer('A ListResponse') };
const one = { querystring: projection, isOfOne: true } as const;
const change = { ...one, takesBody: true } as const;

const ofKind = (kind: 'User' | 'Group') => {
  const at = `/scim/v2/${kind}s`;
  const word = kind.toLowerCase();
  return {
    [`GET ${at}`]: route(`scimList${kind}s`, `List ${word}s`, listed, { querystring: list }),
    [`POST ${at}/.search`]: route(`scimSearch${kind}s`, `List ${word}s by a body`, listed, { takesBody: true }),
    [`POST ${at}`]: route(
      `scimCreate${kind}`,
      `Create a ${word}`,
      { 201: answer('The resource') },
      {
        querystring: projection,
        takesBody: true,
      },
    ),
    [`GET ${at}/:id`]: route(`scimGet${kind}`, `Read a ${word}`, ok, one),
    [`PUT ${at}/:id`]: route(`scimReplace${kind}`, `Replace a ${word}`, ok, change),
    [`PATCH ${at}/:id`]: route(
      `scimPatch${kind}`,
      `Change a ${word}`,
      kind === 'Group' ? { ...ok, ...done } : ok,
      change,
    ),
    [`DELETE ${at}/:id`]: route(`scimDelete${kind}`, `Delete a ${word}`, done, { isOfOne: true }),
  };
};

const document = (operationId: string, summary: string, more: Route = {}) => route(operationId, summary, ok, more);

export const scimDocumentation: Record<string, object & { 'x-events'?: readonly EventAction[] }> = {
  'GET /scim/v2/ServiceProviderConfig': document('scimGetServiceProviderConfig', 'What the service can do'),
  'GET /scim/v2/ResourceTypes': document('scimListResourceTypes', 'Kinds of resources'),
  'GET /scim/v2/ResourceTypes/:id': document('scimGetResourceType', 'A kind of resources', { isOfOne: true }),
  'GET /scim/v2/Schemas': document('scimListSchemas', 'Schemas of the resources'),
  'GET /scim/v2/Schemas/:id': document('scimGetSchema', 'A schema', { isOfOne: true }),
  ...ofKind('User'),
  ...ofKind('Group'),
  'POST /scim/v2/.search': route('scimSearch', 'List users and groups by a body', listed, { takesBody: true }),
};
