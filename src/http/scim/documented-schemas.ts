import { Type } from 'typebox';
import { exampleId as id } from '../openapi/example-texts.js';
import { coreSchema, messageSchema } from './urns.js';

/** What a directory sends and reads is open: `/Schemas` says which attributes there are. */
const Open = (title: string, description: string, example: object) =>
  Type.Object({}, { additionalProperties: true, title, description, example });

export const ScimUser = Open('ScimUser', 'RFC 7643 §4.1, and the enterprise extension (§4.3).', {
  schemas: [coreSchema('User')],
  userName: 'ana@acme.com',
  externalId: '00u1a2b3c4',
  name: { givenName: 'Ana', familyName: 'Berger' },
  emails: [{ value: 'ana@acme.com', type: 'work', primary: true }],
  active: true,
});
export const ScimGroup = Open('ScimGroup', 'RFC 7643 §4.2.', {
  schemas: [coreSchema('Group')],
  displayName: 'Engineers',
  members: [{ value: id }],
});
export const ScimUserPatch = Open('ScimUserPatch', 'RFC 7644 §3.5.2.', {
  schemas: [messageSchema('PatchOp')],
  Operations: [{ op: 'replace', path: 'active', value: false }],
});
export const ScimGroupPatch = Open('ScimGroupPatch', 'RFC 7644 §3.5.2.', {
  schemas: [messageSchema('PatchOp')],
  Operations: [{ op: 'add', path: 'members', value: [{ value: id }] }],
});
export const ScimSearchRequest = Open('ScimSearchRequest', 'RFC 7644 §3.4.3.', {
  schemas: [messageSchema('SearchRequest')],
  filter: 'displayName eq "Engineers"',
  startIndex: 1,
  count: 10,
});
export const ScimListResponse = Open('ScimListResponse', 'RFC 7644 §3.4.2.', {
  schemas: [messageSchema('ListResponse')],
  totalResults: 1,
  startIndex: 1,
  itemsPerPage: 1,
  Resources: [{ schemas: [coreSchema('Group')], id, displayName: 'Engineers' }],
});
export const ScimDescription = Open('ScimDescription', 'What the service supports: RFC 7643 §5 to §7.', {
  schemas: [coreSchema('ServiceProviderConfig')],
  patch: { supported: true },
  filter: { supported: true, maxResults: 200 },
});
export const ScimError = Type.Object(
  {
    schemas: Type.Array(Type.String()),
    status: Type.String(),
    scimType: Type.Optional(Type.String()),
    detail: Type.String(),
  },
  {
    title: 'ScimError',
    description: 'RFC 7644 §3.12.',
    example: {
      schemas: [messageSchema('Error')],
      status: '409',
      scimType: 'uniqueness',
      detail: 'The directory has a user with this userName',
    },
  },
);
