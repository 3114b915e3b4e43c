/**
 * An attribute as RFC 7643 §7 describes one; what is left out is as there: readWrite, returned by default, not unique.
 */
export interface Attribute {
  name: string;
  type: 'string' | 'boolean' | 'dateTime' | 'reference' | 'complex';
  description: string;
  multiValued?: true;
  required?: true;
  caseExact?: true;
  mutability?: 'readOnly' | 'immutable';
  returned?: 'always';
  uniqueness?: 'server';
  canonicalValues?: readonly string[];
  referenceTypes?: readonly string[];
  subAttributes?: readonly Attribute[];
}

export interface Schema {
  id: string;
  name: string;
  description: string;
  attributes: readonly Attribute[];
}

/** A kind of resource: its schema, and what extends it. */
export interface ResourceKind {
  name: 'User' | 'Group';
  endpoint: string;
  description: string;
  schema: Schema;
  extensions: readonly Schema[];
}

/** A resource, or the part of one that a client may write: names as in the schemas, extensions under their URN. */
export type Resource = Record<string, unknown>;

/** The attributes of every resource (RFC 7643 §3.1), which are not part of any schema. */
const commonAttributes: readonly Attribute[] = [
  { name: 'id', type: 'string', description: 'The ID.', caseExact: true, mutability: 'readOnly', returned: 'always' },
  { name: 'externalId', type: 'string', description: 'The ID in the directory.', caseExact: true },
  {
    name: 'meta',
    type: 'complex',
    description: 'Metadata of the resource.',
    mutability: 'readOnly',
    subAttributes: [
      {
        name: 'resourceType',
        type: 'string',
        description: 'The resource type.',
        caseExact: true,
        mutability: 'readOnly',
      },
      { name: 'created', type: 'dateTime', description: 'When it was created.', mutability: 'readOnly' },
      { name: 'lastModified', type: 'dateTime', description: 'When it last changed.', mutability: 'readOnly' },
      { name: 'location', type: 'reference', description: 'Its URI.', caseExact: true, mutability: 'readOnly' },
      { name: 'version', type: 'string', description: 'Its ETag.', caseExact: true, mutability: 'readOnly' },
    ],
  },
];

const named = (attributes: readonly Attribute[], name: string): Attribute | undefined =>
  attributes.find((one) => one.name.toLowerCase() === name.toLowerCase());

export const subAttribute = (attribute: Attribute, name: string): Attribute | undefined =>
  named(attribute.subAttributes ?? [], name);

/** The attribute of a schema, or one that all resources have; whatever the case (RFC 7643 §2.1). */
export const attributeOf = (schema: Schema, name: string, kind: ResourceKind): Attribute | undefined =>
  named(schema.attributes, name) ?? (schema === kind.schema ? named(commonAttributes, name) : undefined);

/** The schema of a kind by its URN, whatever the case. */
export const schemaOf = (kind: ResourceKind, urn: string): Schema | undefined =>
  [kind.schema, ...kind.extensions].find(({ id }) => id.toLowerCase() === urn.toLowerCase());
