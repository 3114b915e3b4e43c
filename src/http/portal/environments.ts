import { Type } from 'typebox';
import type { Environment } from '../../../entities/environment.js';
import type { Reach } from '../../domain/capabilities/reach.js';
import { limitEvents } from '../event-lists/node-removal.js';
import { definedOnly } from '../surfaces/defined-only.js';
import { listQuery, paginated } from '../surfaces/lists.js';
import { errors, operation } from '../surfaces/operation.js';
import { Body, Id, listOf, Name, Nullable, OneOf, Resource, Slug, single, Timestamp } from '../surfaces/schemas.js';
import { AccessFields, accessFieldsOf, viewedBy } from './access.js';

const EnvironmentTypes = OneOf(['development', 'production']);
const EnvironmentView = Resource('Environment', {
  id: Id,
  application_id: Id,
  name: Type.String(),
  slug: Type.String(),
  type: EnvironmentTypes,
  ...AccessFields,
  created_at: Timestamp,
  updated_at: Timestamp,
});
/** @param reach null for a caller who has just changed it, and so may access it */
const presentIn =
  (reach: Reach) =>
  ({ id, applicationId, name, slug, type, createdAt, updatedAt }: Environment) => ({
    id,
    application_id: applicationId,
    name,
    slug,
    type,
    ...accessFieldsOf(reach, { applicationId, environmentId: id }),
    created_at: createdAt,
    updated_at: updatedAt,
  });
const present = presentIn(null);

const common = { tag: 'Environments' } as const;

export const listEnvironments = operation({
  ...common,
  id: 'listEnvironments',
  method: 'GET',
  path: '/environments',
  summary: 'List the environments of an application',
  description: '`q` searches name and slug. Callers whose roles have limits see the environments within them.',
  level: 'application',
  capability: 'applications.view',
  inPart: true,
  query: listQuery(['created_at', 'name', 'slug'], { type: Type.Optional(EnvironmentTypes) }),
  answers: { 200: listOf(EnvironmentView), ...errors('application.not_found') },
  async handle({ services, scope, caller, query: { sort_by: sortBy, type, ...page } }) {
    const reach = viewedBy(caller);
    return paginated(await services.environments.list(scope, reach, { ...page, sortBy, type }), presentIn(reach));
  },
});

export const createEnvironment = operation({
  ...common,
  id: 'createEnvironment',
  method: 'POST',
  path: '/environments',
  summary: 'Create an environment',
  description:
    'It starts empty, with default settings. Without a `slug`, one is derived from the name, with a short random suffix ' +
    'if it is taken. The `type` cannot be changed later: API keys show it (`ghk_live_`, `ghk_test_`), and some deletions ' +
    'are refused in production. An application can have 500 environments.',
  level: 'application',
  capability: 'applications.manage',
  body: Body({ name: Name, slug: Type.Optional(Nullable(Slug)), type: EnvironmentTypes }),
  events: ['environment.created'],
  answers: {
    201: single(EnvironmentView),
    ...errors('environment.slug_taken', 'environment.limit_reached', 'application.not_found', 'validation.failed'),
  },
  async handle({ services, scope, body }) {
    const input = { name: body.name.trim(), slug: body.slug ?? undefined, type: body.type };
    return { data: present(await services.environments.create(scope, input)) };
  },
});

export const getEnvironment = operation({
  ...common,
  id: 'getEnvironment',
  method: 'GET',
  path: '',
  summary: 'Get an environment',
  level: 'environment',
  capability: 'applications.view',
  inPart: true,
  answers: { 200: single(EnvironmentView), ...errors('application.not_found', 'environment.not_found') },
  handle: async ({ services, scope, caller }) => ({
    data: presentIn(viewedBy(caller))(await services.environments.get(scope)),
  }),
});

export const updateEnvironment = operation({
  ...common,
  id: 'updateEnvironment',
  method: 'PATCH',
  path: '',
  summary: 'Update the name or the slug of an environment',
  description: 'A new slug takes effect immediately in every Portal path below. The `type` cannot be changed.',
  level: 'environment',
  capability: 'applications.manage',
  retriedWithoutAccess: true,
  body: Body({ name: Type.Optional(Name), slug: Type.Optional(Slug) }),
  events: ['environment.updated'],
  answers: {
    200: single(EnvironmentView),
    ...errors('environment.slug_taken', 'application.not_found', 'environment.not_found', 'validation.failed'),
  },
  async handle({ services, scope, body }) {
    const changes = definedOnly({ name: body.name?.trim(), slug: body.slug });
    return { data: present(await services.environments.update(scope, changes)) };
  },
});

export const deleteEnvironment = operation({
  ...common,
  id: 'deleteEnvironment',
  method: 'DELETE',
  path: '',
  summary: 'Delete an environment with everything in it',
  description:
    'Repeat the slug in `confirm`: this cannot be undone. The environment is gone once the response is sent: nobody can ' +
    'find it or sign in to it; its API keys, sessions and tokens stop working immediately, its OAuth clients within a ' +
    'second; its webhooks receive nothing more; and its slug is free. Its contents are deleted by a process ' +
    '(`environment_removal` in `/processes`). An identity that is in no other environment of the account is deleted with ' +
    'it, as when it is deleted by itself; the event `environment.erased` marks the end of the process and gives their ' +
    'number (`identities_deleted`). Audit log rows stay. The last environment of an application may be deleted too; a ' +
    'new one can be created.',
  level: 'environment',
  capability: 'applications.manage',
  retriedWithoutAccess: true,
  query: Type.Object(
    { confirm: Type.Optional(Type.String({ description: 'Required: the slug of the environment.' })) },
    { additionalProperties: false },
  ),
  events: ['environment.deleted', ...limitEvents],
  answers: {
    204: Type.Null(),
    ...errors('environment.confirmation_required', 'application.not_found', 'environment.not_found'),
  },
  handle: async ({ services, scope, query }) => services.environments.remove(scope, query.confirm),
});
