import type { FastifyInstance } from 'fastify';
import { groupKind, userKind } from '../../domain/scim/kinds.js';
import { ScimRefused } from '../../domain/scim/refusal.js';
import type { Attribute, ResourceKind, Schema } from '../../domain/scim/schema.js';
import { scimType } from './errors.js';
import type { ScimOptions } from './options.js';
import { listResponse, maxResults } from './shapes.js';
import { coreSchema } from './urns.js';

const kinds = [userKind, groupKind];

/** What this service supports, and the definitions of its resources (RFC 7644 §4). */
export function discovery(app: FastifyInstance, { baseUrl }: Pick<ScimOptions, 'baseUrl'>): void {
  const types = kinds.map((kind) => resourceType(kind, baseUrl));
  const schemas = kinds
    .flatMap(({ schema, extensions }) => [schema, ...extensions])
    .map((one) => present(one, baseUrl));
  const answer = (path: string, resource: (id: string) => object | undefined) =>
    app.get<{ Params: { id: string } }>(path, async ({ params, query }, reply) => {
      // RFC 7644 §4: filters are refused here.
      if ((query as { filter?: unknown }).filter !== undefined)
        throw new ScimRefused('forbidden', 'There is no filter here');
      const found = resource(params.id);
      if (!found) throw new ScimRefused('notFound', 'There is no such thing');
      return reply.type(scimType).send(found);
    });
  const listed = (all: object[]) =>
    listResponse(all as Record<string, unknown>[], { total: all.length, startIndex: 1 });

  answer('/ServiceProviderConfig', () => serviceProviderConfig(baseUrl));
  answer('/ResourceTypes', () => listed(types));
  answer('/ResourceTypes/:id', (id) => types.find((one) => one.id === id));
  answer('/Schemas', () => listed(schemas));
  answer('/Schemas/:id', (id) => schemas.find((one) => one.id.toLowerCase() === id.toLowerCase()));
}

const serviceProviderConfig = (baseUrl: string) => ({
  schemas: [coreSchema('ServiceProviderConfig')],
  patch: { supported: true },
  bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
  filter: { supported: true, maxResults },
  changePassword: { supported: false },
  sort: { supported: true },
  etag: { supported: true },
  authenticationSchemes: [
    {
      type: 'oauthbearertoken',
      name: 'SCIM token',
      description: 'A token that an administrator of the account creates, as a bearer token (RFC 6750).',
      primary: true,
    },
  ],
  meta: { resourceType: 'ServiceProviderConfig', location: `${baseUrl}/ServiceProviderConfig` },
});

const resourceType = ({ name, endpoint, description, schema, extensions }: ResourceKind, baseUrl: string) => ({
  schemas: [coreSchema('ResourceType')],
  id: name,
  name,
  description,
  endpoint,
  schema: schema.id,
  ...(extensions.length > 0 && { schemaExtensions: extensions.map(({ id }) => ({ schema: id, required: false })) }),
  meta: { resourceType: 'ResourceType', location: `${baseUrl}/ResourceTypes/${name}` },
});

const present = ({ id, name, description, attributes }: Schema, baseUrl: string) => ({
  schemas: [coreSchema('Schema')],
  id,
  name,
  description,
  attributes: attributes.map(presentAttribute),
  meta: { resourceType: 'Schema', location: `${baseUrl}/Schemas/${id}` },
});

/** Presents an attribute with every characteristic of RFC 7643 §7, including the defaults. */
function presentAttribute(attribute: Attribute): object {
  const { name, type, description, canonicalValues, referenceTypes, subAttributes } = attribute;
  return {
    name,
    type,
    multiValued: attribute.multiValued ?? false,
    description,
    required: attribute.required ?? false,
    ...(type !== 'complex' && type !== 'boolean' && { caseExact: attribute.caseExact ?? false }),
    mutability: attribute.mutability ?? 'readWrite',
    returned: attribute.returned ?? 'default',
    ...(type !== 'complex' && type !== 'boolean' && { uniqueness: attribute.uniqueness ?? 'none' }),
    ...(canonicalValues && { canonicalValues }),
    ...(referenceTypes && { referenceTypes }),
    ...(subAttributes && { subAttributes: subAttributes.map(presentAttribute) }),
  };
}
