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
  description: 'Whether it is the main one; at the most one is.',
};
const several = (name: string, description: string, types: readonly string[], more: Partial<Attribute> = {}) =>
  ({
    name,
    type: 'complex',
    multiValued: true,
    description,
    subAttributes: [
      text('value', 'The value.', { required: true }),
      text('display', 'As people read it.'),
      text('type', 'What it is for.', types.length > 0 ? { canonicalValues: types } : {}),
      primary,
    ],
    ...more,
  }) as const satisfies Attribute;

const user: Schema = {
  id: 'urn:ietf:params:scim:schemas:core:2.0:User',
  name: 'User',
  description: 'A person of the environment or of the organization.',
  attributes: [
    text('userName', 'The name in the directory: the mail address, where `emails` has none.', {
      required: true,
      uniqueness: 'server',
    }),
    {
      name: 'name',
      type: 'complex',
      description: 'The parts of the name.',
      subAttributes: [
        text('formatted', 'The whole name.'),
        text('familyName', 'The last name.'),
        text('givenName', 'The first name.'),
        text('middleName', 'What stands between them.'),
        text('honorificPrefix', 'Such as Dr.'),
        text('honorificSuffix', 'Such as III.'),
      ],
    },
    text('displayName', 'As others read the name.'),
    text('nickName', 'What the person is called.'),
    text('title', 'Such as Vice President.'),
    { name: 'profileUrl', type: 'reference', description: 'A page about the person.', referenceTypes: ['external'] },
    text('userType', 'Such as Employee.'),
    text('preferredLanguage', 'As in an Accept-Language header.'),
    text('locale', 'Such as de-DE.'),
    text('timezone', 'Such as Europe/Berlin.'),
    {
      name: 'active',
      type: 'boolean',
      required: true,
      description: 'Whether the person is let in. False ends their sessions at once.',
    },
    several('emails', 'The main one is where the person signs in.', ['work', 'home', 'other'], { required: true }),
    several('phoneNumbers', 'Phone numbers.', ['work', 'home', 'mobile', 'fax', 'pager', 'other']),
    several('ims', 'Addresses for instant messages.', []),
    {
      name: 'addresses',
      type: 'complex',
      multiValued: true,
      description: 'Where mail on paper goes.',
      subAttributes: [
        text('formatted', 'The whole address.'),
        text('streetAddress', 'Street and number.'),
        text('locality', 'The city.'),
        text('region', 'The state or region.'),
        text('postalCode', 'The postal code.'),
        text('country', 'As in ISO 3166-1 alpha-2, such as DE.'),
        text('type', 'What it is for.', { canonicalValues: ['work', 'home', 'other'] }),
        primary,
      ],
    },
    several(
      'entitlements',
      'What the directory says that the person is entitled to: kept, and nothing follows from it.',
      [],
    ),
    several('roles', 'What the directory calls roles: kept, and nothing follows from it. Groups give roles here.', []),
    {
      name: 'groups',
      type: 'complex',
      multiValued: true,
      description: 'The groups that the person is in; changed at the groups.',
      mutability: 'readOnly',
      subAttributes: [
        text('value', 'Id of the group.', { mutability: 'readOnly' }),
        { ...reference('Address of the group.', 'Group'), mutability: 'readOnly' },
        text('display', 'What the group is called.', { mutability: 'readOnly' }),
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
  description: 'What a company knows of its people.',
  attributes: [
    text('employeeNumber', 'Number in the company.'),
    text('costCenter', 'Cost center.'),
    text('organization', 'Organization.'),
    text('division', 'Division.'),
    text('department', 'Department.'),
    {
      name: 'manager',
      type: 'complex',
      description: 'The manager, as the directory tells it.',
      subAttributes: [text('value', 'Id of the manager.'), text('displayName', 'Name of the manager.')],
    },
  ],
};

const group: Schema = {
  id: 'urn:ietf:params:scim:schemas:core:2.0:Group',
  name: 'Group',
  description: 'A group of the directory. Mappings say which roles its members hold, and where.',
  attributes: [
    text('displayName', 'What it is called.', { required: true }),
    {
      name: 'members',
      type: 'complex',
      multiValued: true,
      description: 'The people in it. Groups in groups are not taken.',
      subAttributes: [
        text('value', 'Id of the User.', { mutability: 'immutable', caseExact: true }),
        { ...reference('Address of the User.', 'User'), mutability: 'immutable' },
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
