import { Type } from 'typebox';
import { fullNameOf } from '../../domain/full-name.js';
import type { DirectoryEntry } from '../../domain/identities/directory.js';
import { identityRemovalEvents } from '../event-lists/identity-removal.js';
import { ListedProfileFields, presentProfile } from '../operations/identity-profile.js';
import { always, listQuery, paginated } from '../surfaces/lists.js';
import { errors, operation } from '../surfaces/operation.js';
import {
  ById,
  Id,
  idOrNone,
  listOf,
  Nullable,
  noneIsNull,
  OneOf,
  Resource,
  single,
  Timestamp,
} from '../surfaces/schemas.js';

const common = { tag: 'Identities', level: 'account', capability: 'identities.view' } as const;

const RowFields = {
  id: Id,
  email: Type.String(),
  ...ListedProfileFields,
  name: Nullable(Type.String()),
  is_active: Type.Boolean({ description: 'Whether the identity may sign in to at least one environment.' }),
  memberships: Type.Array(
    Resource('DirectoryMembership', {
      application_id: Id,
      application_name: Type.String(),
      application_slug: Type.String(),
      environment_id: Id,
      environment_name: Type.String(),
      environment_slug: Type.String(),
      is_active: Type.Boolean(),
      created_at: Timestamp,
    }),
    { description: 'Empty for an identity that is only in the directory.' },
  ),
  created_at: Timestamp,
};
const Row = Resource('ListedDirectoryIdentity', RowFields);
const Detail = Resource('DirectoryIdentity', { ...RowFields, email_verified: Type.Boolean(), updated_at: Timestamp });

const present = ({ identity, memberships }: DirectoryEntry) => ({
  id: identity.id,
  email: identity.email,
  ...presentProfile(identity),
  name: fullNameOf(identity),
  is_active: memberships.some(({ isActive }) => isActive),
  memberships: memberships.map((one) => ({
    application_id: one.applicationId,
    application_name: one.applicationName,
    application_slug: one.applicationSlug,
    environment_id: one.environmentId,
    environment_name: one.environmentName,
    environment_slug: one.environmentSlug,
    is_active: one.isActive,
    created_at: one.createdAt,
  })),
  created_at: identity.createdAt,
});

export const listDirectory = operation({
  ...common,
  id: 'listDirectory',
  method: 'GET',
  path: '/identities',
  summary: 'List the identities of an account',
  description:
    'Returns each identity once, with the environments of which it is a member. `q` searches first name, last name and ' +
    'email. With `environment_id`, `status` refers to that environment; without it, `active` means that the identity may ' +
    'sign in to at least one. A `q` that finds more than 100 000 is refused, and so is one without three letters or digits in a row if ' +
    'the account has more identities than that.',
  query: listQuery(['created_at', 'email'], {
    status: Type.Optional(OneOf(['active', 'inactive'])),
    environment_id: Type.Optional(
      idOrNone(
        'Only members of this environment; `none`: only identities that are in the directory but in no environment.',
      ),
    ),
  }),
  answers: { 200: listOf(Row) },
  isBroad: always,
  handle: async ({ services, scope, query: { sort_by: sortBy, status, environment_id, ...page } }) =>
    paginated(
      await services.directory.list(scope, {
        ...page,
        sortBy,
        isActive: status && status === 'active',
        environmentId: noneIsNull(environment_id),
      }),
      present,
    ),
});

export const getDirectorySummary = operation({
  ...common,
  id: 'getDirectorySummary',
  method: 'GET',
  path: '/identities/summary',
  summary: 'Count the identities of an account',
  description:
    'Each identity is counted once: `active` may sign in to at least one environment, `directory_only` is a member of none.',
  answers: {
    200: single(
      Type.Object({
        total: Type.Integer(),
        active: Type.Integer(),
        inactive: Type.Integer(),
        directory_only: Type.Integer(),
        unverified: Type.Integer(),
        mfa_enrolled: Type.Integer(),
      }),
    ),
  },
  isBroad: always,
  handle: async ({ services, scope }) => {
    const { directoryOnly, mfaEnrolled, ...summary } = await services.directory.summary(scope);
    return { data: { ...summary, directory_only: directoryOnly, mfa_enrolled: mfaEnrolled } };
  },
});

export const getDirectoryIdentity = operation({
  ...common,
  id: 'getDirectoryIdentity',
  method: 'GET',
  path: '/identities/:id',
  summary: 'Get an identity of an account',
  description:
    "Includes every environment of which it is a member. To get its roles, or to change anything, use an environment's " +
    'operations.',
  params: ById,
  answers: { 200: single(Detail), ...errors('identity.not_found') },
  async handle({ services, scope, params }) {
    const entry = await services.directory.get(scope, params.id);
    const { emailVerifiedAt, updatedAt } = entry.identity;
    return { data: { ...present(entry), email_verified: emailVerifiedAt !== null, updated_at: updatedAt } };
  },
});

export const deleteDirectoryIdentity = operation({
  ...common,
  id: 'deleteDirectoryIdentity',
  method: 'DELETE',
  path: '/identities/:id',
  summary: 'Delete an identity from an account',
  description:
    'Ends its membership in every environment immediately, with its sessions, role assignments and the invites pending ' +
    'for its email address, and erases it; this includes identities that are only in the directory. It is returned here ' +
    'until it is erased; a repeated request continues the same erasure. To remove an identity from a single environment, ' +
    'delete it there.',
  capability: 'identities.manage',
  params: ById,
  exists: ({ services, scope, params }) => services.directory.get(scope, params.id),
  events: identityRemovalEvents,
  answers: { 204: Type.Null(), ...errors('identity.not_found') },
  handle: ({ services, scope, params }) => services.directory.remove(scope, params.id),
});
