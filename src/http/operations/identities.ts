import { Type } from 'typebox';
import { holds } from '../../domain/caller.js';
import type { IdentityInEnvironment } from '../../domain/identities/identities.js';
import { listQuery, paginated } from '../lists.js';
import { errors, operation } from '../operation.js';
import { Body, Email, Id, listOf, Metadata, Name, Nullable, OneOf, single, Timestamp, Url } from '../schemas.js';

const RowFields = {
  id: Id,
  email: Type.String(),
  first_name: Nullable(Type.String()),
  last_name: Nullable(Type.String()),
  avatar_url: Nullable(Type.String()),
  external_id: Nullable(Type.String()),
  is_active: Type.Boolean(),
  created_at: Timestamp,
};
const IdentityRow = Type.Object(RowFields);
const IdentityDetail = Type.Object({
  ...RowFields,
  name: Nullable(Type.String()),
  metadata: Metadata,
  email_verified: Type.Boolean(),
  roles: Type.Array(Type.Object({})),
  can_manage: Type.Boolean({ description: 'Whether the caller holds `identity.manage`.' }),
  updated_at: Timestamp,
});
const ById = Type.Object({ id: Id });

const row = ({ identity, membership }: IdentityInEnvironment) => ({
  id: identity.id,
  email: identity.email,
  first_name: identity.firstName,
  last_name: identity.lastName,
  avatar_url: identity.avatarUrl,
  external_id: identity.externalId,
  is_active: membership.isActive,
  created_at: identity.createdAt,
});

export const listIdentities = operation({
  id: 'listIdentities',
  method: 'GET',
  path: '/identities',
  summary: 'List identities',
  description: 'Profile data only: no credentials, no assignments. `q` searches first name, last name and email.',
  tag: 'Identities',
  level: 'environment',
  permission: 'identity.view',
  capability: 'identities.view',
  query: listQuery(['created_at', 'email', 'first_name', 'last_name'], {
    status: Type.Optional(OneOf(['active', 'inactive'])),
  }),
  answers: { 200: listOf(IdentityRow) },
  async handle({ services, scope, query: { sort_by: sortBy, status, ...page } }) {
    const isActive = status && status === 'active';
    return paginated(await services.identities.list(scope, { ...page, sortBy, isActive }), row);
  },
});

export const createIdentity = operation({
  id: 'createIdentity',
  method: 'POST',
  path: '/identities',
  summary: 'Create an identity',
  description: "An address that is in the Account's directory already gets a membership in this Environment.",
  tag: 'Identities',
  level: 'environment',
  permission: 'identity.manage',
  capability: 'identities.manage',
  body: Body({
    email: Email,
    first_name: Type.Optional(Nullable(Name)),
    last_name: Type.Optional(Nullable(Name)),
    avatar_url: Type.Optional(Nullable(Url)),
    external_id: Type.Optional(Nullable(Type.String({ minLength: 1, maxLength: 255 }))),
    metadata: Type.Optional(Metadata),
    email_verified: Type.Optional(Type.Boolean({ default: false })),
    password: Type.Optional(Nullable(Type.String({ maxLength: 1024 }))),
  }),
  answers: {
    201: single(IdentityRow),
    ...errors('identity.email_taken', 'identity.external_id_taken', 'password.breached', 'validation.failed'),
  },
  handle: async ({ services, scope, body }) => ({
    data: row(
      await services.identities.create(scope, {
        email: body.email,
        firstName: body.first_name?.trim() ?? null,
        lastName: body.last_name?.trim() ?? null,
        avatarUrl: body.avatar_url ?? null,
        externalId: body.external_id ?? null,
        metadata: body.metadata ?? {},
        emailVerified: body.email_verified ?? false,
        password: body.password ?? null,
      }),
    ),
  }),
});

export const getIdentityDetail = operation({
  id: 'getIdentityDetail',
  method: 'GET',
  path: '/identities/:id/detail',
  summary: 'Read an identity',
  tag: 'Identities',
  level: 'environment',
  permission: 'identity.view',
  capability: 'identities.view',
  params: ById,
  answers: { 200: single(IdentityDetail), ...errors('identity.not_found') },
  async handle({ services, scope, caller, params }) {
    const found = await services.identities.get(scope, params.id);
    const { firstName, lastName, metadata, emailVerifiedAt, updatedAt } = found.identity;
    return {
      data: {
        ...row(found),
        name: [firstName, lastName].filter(Boolean).join(' ') || null,
        metadata,
        email_verified: emailVerifiedAt !== null,
        roles: [],
        can_manage:
          holds(caller, 'identity.manage') ||
          (caller.type === 'platform_admin' && caller.capabilities.includes('identities.manage')),
        updated_at: updatedAt,
      },
    };
  },
});
