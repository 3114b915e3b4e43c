import type { Attribute, ResourceKind, Schema } from './schema.js';

const text = (name: string, description: string, more: Partial<Attribute> = {}): Attribute => ({
  name,
  type: 'string',
  description,
  ...more,
});
const primary: Attribute = {
  name: 'primary',
  type: 'boolean',
  description: 'Whether it is the primary value; at most one is.',
};
const several = (name: string, description: string, types: readonly string[], more: Partial<Attribute> = {}) =>
  ({
    name,
    type: 'complex',
    multiValued: true,
    description,
    subAttributes: [
      text('value', 'The value.', { required: true }),
      text('display', 'The human-readable form.'),
      text('type', 'Its purpose.', types.length > 0 ? { canonicalValues: types } : {}),
      primary,
    ],
    ...more,
  }) as const satisfies Attribute;

const user: Schema = {
  id: 'urn:ietf:params:scim:schemas:core:2.0:User',
  name: 'User',
  description: 'A user of the environment or of the organization.',
  attributes: [
    text('userName', 'The name in the directory; used as the email address if `emails` has none.', {
      required: true,
      uniqueness: 'server',
    }),
    {
      name: 'name',
      type: 'complex',
      description: 'The parts of the name.',
      subAttributes: [
        text('formatted', 'The full name.'),
        text('familyName', 'The last name.'),
        text('givenName', 'The first name.'),
        text('middleName', 'The middle names.'),
        text('honorificPrefix', 'For example Dr.'),
        text('honorificSuffix', 'For example III.'),
      ],
    },
    text('displayName', 'The name shown to others.'),
    text('nickName', 'The casual name.'),
    text('title', 'For example Vice President.'),
    { name: 'profileUrl', type: 'reference', description: 'A page about the person.', referenceTypes: ['external'] },
    text('userType', 'For example Employee.'),
    text('preferredLanguage', 'In the form of an Accept-Language header.'),
    text('locale', 'For example de-DE.'),
    text('timezone', 'For example Europe/Berlin.'),
    {
      name: 'active',
      type: 'boolean',
      required: true,
      description: 'Whether the user may sign in. False ends their sessions immediately.',
    },
    several('emails', 'The user signs in with the primary one.', ['work', 'home', 'other'], { required: true }),
    several('phoneNumbers', 'Phone numbers.', ['work', 'home', 'mobile', 'fax', 'pager', 'other']),
    several('ims', 'Instant messaging addresses.', []),
    {
      name: 'addresses',
      type: 'complex',
      multiValued: true,
      description: 'Postal addresses.',
      subAttributes: [
        text('formatted', 'The full address.'),
        text('streetAddress', 'Street and number.'),
        text('locality', 'The city.'),
        text('region', 'The state or region.'),
        text('postalCode', 'The postal code.'),
        text('country', 'ISO 3166-1 alpha-2, for example DE.'),
        text('type', 'Its purpose.', { canonicalValues: ['work', 'home', 'other'] }),
        primary,
      ],
    },
    several('entitlements', 'What the user is entitled to according to the directory: stored without effect.', []),
    several('roles', 'Roles according to the directory: stored without effect. Here, roles come from groups.', []),
    {
      name: 'groups',
      type: 'complex',
      multiValued: true,
      description: 'The groups of the user; changed through the groups.',
      mutability: 'readOnly',
      subAttributes: [
        text('value', 'The ID of the group.', { mutability: 'readOnly' }),
        { ...reference('The URI of the group.', 'Group'), mutability: 'readOnly' },
        text('display', 'The name of the group.', { mutability: 'readOnly' }),
      ],
    },
  ],
};

function reference(description: string, to: string): Attribute {
  return { name: '$ref', type: 'reference', description, caseExact: true, referenceTypes: [to] };
}

const enterprise: Schema = {
  id: 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User',
  name: 'Enterprise User',
  description: 'Attributes of users who belong to an enterprise.',
  attributes: [
    text('employeeNumber', 'The employee number.'),
    text('costCenter', 'The cost center.'),
    text('organization', 'Organization.'),
    text('division', 'Division.'),
    text('department', 'Department.'),
    {
      name: 'manager',
      type: 'complex',
      description: 'The manager, as sent by the directory.',
      subAttributes: [text('value', 'The ID of the manager.'), text('displayName', 'The name of the manager.')],
    },
  ],
};

const group: Schema = {
  id: 'urn:ietf:params:scim:schemas:core:2.0:Group',
  name: 'Group',
  description: 'A group of the directory. Mappings determine which roles its members hold, and where.',
  attributes: [
    text('displayName', 'Its name.', { required: true }),
    {
      name: 'members',
      type: 'complex',
      multiValued: true,
      description: 'Its members. Nested groups are not supported.',
      subAttributes: [
        text('value', 'The ID of the user.', { mutability: 'immutable', caseExact: true }),
        { ...reference('The URI of the user.', 'User'), mutability: 'immutable' },
        text('type', 'Always User.', { mutability: 'immutable', canonicalValues: ['User'] }),
      ],
    },
  ],
};

export const userKind: ResourceKind = {
  name: 'User',
  endpoint: '/Users',
  description: user.description,
  schema: user,
  extensions: [enterprise],
};
export const groupKind: ResourceKind = {
  name: 'Group',
  endpoint: '/Groups',
  description: group.description,
  schema: group,
  extensions: [],
};
