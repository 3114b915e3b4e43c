import { Type } from 'typebox';
import type { Application } from '../../../entities/application.js';
import type { Reach } from '../../domain/capabilities/reach.js';
import { limitEvents } from '../event-lists/node-removal.js';
import { definedOnly } from '../surfaces/defined-only.js';
import { listQuery, paginated } from '../surfaces/lists.js';
import { errors, operation } from '../surfaces/operation.js';
import { Body, Id, listOf, Name, Nullable, Resource, Slug, single, Timestamp } from '../surfaces/schemas.js';
import { AccessFields, accessFieldsOf, viewedBy } from './access.js';

const ApplicationView = Resource('Application', {
  id: Id,
  name: Type.String(),
  slug: Type.String(),
  ...AccessFields,
  created_at: Timestamp,
  updated_at: Timestamp,
});
/** @param reach null for a caller who has just changed it, and so may access it */
const presentIn =
  (reach: Reach) =>
  ({ id, name, slug, createdAt, updatedAt }: Application) => ({
    id,
    name,
    slug,
    ...accessFieldsOf(reach, { applicationId: id }),
    created_at: createdAt,
    updated_at: updatedAt,
  });
const present = presentIn(null);

const common = { tag: 'Applications' } as const;

export const listApplications = operation({
  ...common,
  id: 'listApplications',
  method: 'GET',
  path: '/applications',
  summary: 'List applications',
  description:
    '`q` searches name and slug. Callers whose roles have limits see the applications within them, and as `path_only` ' +
    'those with an environment within them.',
  level: 'account',
  capability: 'applications.view',
  inPart: true,
  query: listQuery(['created_at', 'name', 'slug']),
  answers: { 200: listOf(ApplicationView), ...errors('account.not_found') },
  async handle({ services, scope, caller, query: { sort_by: sortBy, ...page } }) {
    const reach = viewedBy(caller);
    return paginated(await services.applications.list(scope, reach, { ...page, sortBy }), presentIn(reach));
  },
});

export const createApplication = operation({
  ...common,
  id: 'createApplication',
  method: 'POST',
  path: '/applications',
  summary: 'Create an application',
  description:
    'Creates a Development and a Production environment with it, with the slugs `development` and `production`. Without ' +
    'a `slug`, one is derived from the name, with a short random suffix if it is taken. An account can have 1 000 applications.',
  level: 'account',
  capability: 'applications.manage',
  body: Body({ name: Name, slug: Type.Optional(Nullable(Slug)) }),
  events: ['application.created', 'environment.created'],
  answers: {
    201: single(ApplicationView),
    ...errors('application.slug_taken', 'application.limit_reached', 'account.not_found', 'validation.failed'),
  },
  async handle({ services, scope, body }) {
    const naming = { name: body.name.trim(), slug: body.slug ?? undefined };
    return { data: present(await services.applications.create(scope, naming)) };
  },
});

export const getApplication = operation({
  ...common,
  id: 'getApplication',
  method: 'GET',
  path: '',
  summary: 'Get an application',
  level: 'application',
  capability: 'applications.view',
  inPart: true,
  answers: { 200: single(ApplicationView), ...errors('application.not_found') },
  handle: async ({ services, scope, caller }) => ({
    data: presentIn(viewedBy(caller))(await services.applications.get(scope)),
  }),
});

export const updateApplication = operation({
  ...common,
  id: 'updateApplication',
  method: 'PATCH',
  path: '',
  summary: 'Update the name or the slug of an application',
  description:
    'A new slug takes effect immediately in every Portal path below; credentials refer to the application by its ID and ' +
    'keep working.',
  level: 'application',
  capability: 'applications.manage',
  retriedWithoutAccess: true,
  body: Body({ name: Type.Optional(Name), slug: Type.Optional(Slug) }),
  events: ['application.updated'],
  answers: {
    200: single(ApplicationView),
    ...errors('application.slug_taken', 'application.not_found', 'validation.failed'),
  },
  async handle({ services, scope, body }) {
    const changes = definedOnly({ name: body.name?.trim(), slug: body.slug });
    return { data: present(await services.applications.update(scope, changes)) };
  },
});

export const deleteApplication = operation({
  ...common,
  id: 'deleteApplication',
  method: 'DELETE',
  path: '',
  summary: 'Delete an application with all its environments',
  description:
    'Repeat the slug in `confirm`: this cannot be undone. The application is gone once the response is sent, and its ' +
    'slug is free. All its environments are deleted with everything in them, as if each were deleted by itself: their ' +
    'API keys, sessions and tokens stop working immediately, a process for each deletes its contents, and the last one ' +
    'the application; administrators stay signed in. Records `environment.deleted` for each environment and ' +
    '`application.deleted`. The last application may be deleted too: the account, its administrators and its ' +
    'subscription stay, and a new application can be created.',
  level: 'application',
  capability: 'applications.manage',
  retriedWithoutAccess: true,
  query: Type.Object(
    { confirm: Type.Optional(Type.String({ description: 'Required: the slug of the application.' })) },
    { additionalProperties: false },
  ),
  events: ['application.deleted', 'environment.deleted', ...limitEvents],
  answers: { 204: Type.Null(), ...errors('application.confirmation_required', 'application.not_found') },
  handle: async ({ services, scope, query }) => services.applications.remove(scope, query.confirm),
});
