import { type Static, Type } from 'typebox';
import type { AssignmentResult, WantedAssignment } from '../../domain/access/assignments/assigning.js';
import type { NamedAssignment } from '../../domain/access/assignments/lists.js';
import type { Caller } from '../../domain/caller.js';
import { DomainError } from '../../domain/errors.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import type { Services } from '../../services.js';
import { itemError, itemsOf } from '../surfaces/bulk-items.js';
import { listQuery, paginated } from '../surfaces/lists.js';
import { Answer, errors, operation, somewhere } from '../surfaces/operation.js';
import { Body, ById, Id, instantOf, listOf, Nullable, Resource, single, Timestamp } from '../surfaces/schemas.js';

const AssignmentView = Resource('RoleAssignment', {
  assignment_id: Id,
  id: Type.String({ format: 'uuid', description: 'The ID of the role.' }),
  name: Type.String({ description: 'The name of the role.' }),
  node_id: Id,
  node_name: Type.String(),
  effective_from: Nullable(Timestamp),
  effective_to: Nullable(Timestamp),
  notify_holder: Type.Boolean(),
});

const presentAssignment = (assignment: NamedAssignment) => ({
  assignment_id: assignment.id,
  id: assignment.roleId,
  name: assignment.roleName,
  node_id: assignment.nodeId,
  node_name: assignment.nodeName,
  effective_from: assignment.effectiveFrom,
  effective_to: assignment.effectiveTo,
  notify_holder: assignment.notifyHolder,
});

const Wanted = {
  role_id: Id,
  node_id: Type.Optional(Nullable(Id)),
  effective_from: Type.Optional(Nullable(Timestamp)),
  effective_to: Type.Optional(Nullable(Timestamp)),
  notify_holder: Type.Optional(
    Type.Boolean({
      default: false,
      description:
        'Whether the holder is emailed when a future window begins, before it ends (a week and a day, unless configured ' +
        'otherwise) and when it has ended. An identical assignment that exists already keeps its value.',
    }),
  ),
};
const Element = Body({ identity_id: Id, ...Wanted }, 'RoleAssignmentToCreate');
const instant = (text: string | null | undefined, field: string) => (text == null ? null : instantOf(text, field));

const rule =
  'The caller needs `rbac.assign_roles` and every permission of the role at the node; those who assign a role to ' +
  'themselves need the permissions for as long as it lasts. Without `node_id`, the role is ' +
  'assigned at the root; a bound of null is open. If an identical assignment exists, it is returned with 200. An ' +
  'administrator whose role is limited to nodes can assign roles at and below them, to identities that hold a role ' +
  'there or are members of an organization there. End users who can assign roles only in a part of the tree cannot ' +
  'assign them to members of organizations outside it, unless those hold a role in it already.';
const common = { tag: 'Role assignments', level: 'environment', capability: 'env_roles.manage', inPart: true } as const;
const mayAssign = somewhere('rbac.assign_roles');

type Named = { services: Services; scope: EnvironmentScope; caller: Caller; params: { id: string } };
/** Throws the 404 if the identity in the path does not exist, or not for this caller. */
const knownTo =
  (purpose: 'view' | 'assign') =>
  async ({ services, scope, caller, params }: Named) => {
    await services.identities.get(scope, params.id);
    await services.assignments.assertKnown(scope, caller, params.id, purpose);
  };
const [viewable, assignable] = [knownTo('view'), knownTo('assign')];

export const listIdentityRoleAssignments = operation({
  ...common,
  id: 'listIdentityRoleAssignments',
  method: 'GET',
  path: '/identities/:id/role-assignments',
  summary: 'List the role assignments of an identity',
  description:
    'Includes assignments whose window has not begun yet or has ended. An administrator whose role is limited to nodes ' +
    'sees those at and below them. `q` searches the names of role and node.',
  permission: 'rbac.view_roles',
  capability: 'env_roles.view',
  params: ById,
  query: listQuery(['created_at']),
  answers: { 200: listOf(AssignmentView), ...errors('identity.not_found') },
  exists: viewable,
  async handle({ query: { sort_by: sortBy, ...page }, ...context }) {
    await viewable(context);
    const { services, scope, caller, params } = context;
    const held = await services.assignments.list(scope, caller, params.id, { ...page, sortBy });
    return paginated(held, presentAssignment);
  },
});

export const assignRole = operation({
  ...common,
  id: 'assignRole',
  method: 'POST',
  path: '/identities/:id/role-assignments',
  summary: 'Assign a role to an identity at a node',
  description: rule,
  permission: mayAssign,
  params: ById,
  body: Body(Wanted),
  events: ['role_assignment.created'],
  answers: {
    200: single(AssignmentView),
    201: single(AssignmentView),
    ...errors(
      'identity.not_found',
      'role.not_found',
      'nodes.node_not_found',
      'role.cannot_grant',
      'role_assignments.overlapping',
      'role_assignments.window_empty',
    ),
  },
  exists: assignable,
  async handle({ services, scope, caller, params, body }) {
    const { assignment, isNew } = await services.assignments.assign(scope, caller, {
      identityId: params.id,
      roleId: body.role_id,
      nodeId: body.node_id ?? null,
      effectiveFrom: instant(body.effective_from, 'effective_from'),
      effectiveTo: instant(body.effective_to, 'effective_to'),
      notifyHolder: body.notify_holder ?? false,
    });
    return new Answer(isNew ? 201 : 200, { data: presentAssignment(assignment) });
  },
});

export const unassignRole = operation({
  ...common,
  id: 'unassignRole',
  method: 'DELETE',
  path: '/identities/:id/role-assignments/:assignment_id',
  summary: 'Delete a role assignment',
  description: 'The role stops counting at the next decision.',
  permission: mayAssign,
  retriedWithoutAccess: true,
  params: Type.Object({ id: Id, assignment_id: Id }),
  exists: assignable,
  events: ['role_assignment.deleted'],
  answers: { 204: Type.Null(), ...errors('identity.not_found', 'role_assignments.not_found') },
  async handle(context) {
    await assignable(context);
    const { services, scope, caller, params } = context;
    const [code] = await services.assignments.removeAll(scope, caller, [params.assignment_id], params.id);
    if (code) throw new DomainError(code);
  },
});

export const assignRoles = operation({
  ...common,
  id: 'assignRoles',
  method: 'POST',
  path: '/role-assignments',
  summary: 'Assign roles in bulk',
  description:
    'Each assignment is processed independently: an invalid one, even if malformed, does not prevent the others from ' +
    `being created, and has an \`error\` (\`validation.failed\` with \`details\` if it is malformed). ${rule}`,
  permission: mayAssign,
  eachAlone: 'role_assignments',
  body: Body({ role_assignments: Type.Array(Element, { minItems: 1, maxItems: 1000 }) }),
  events: ['role_assignment.created'],
  answers: { 200: itemsOf('RoleAssignmentItem', 'created', 'exists', 'failed'), ...errors('nodes.node_not_found') },
  async handle({ services, scope, caller, body, refusals }) {
    const wanted = body.role_assignments.map((one, index) => refusals.get(index) ?? wantedOf(one, index));
    const readable = wanted.filter((one): one is WantedAssignment => !(one instanceof DomainError));
    const results = (await services.assignments.assignAll(scope, caller, readable)).values();
    return {
      items: wanted.map((one, index) => {
        const result = one instanceof DomainError ? one : (results.next().value as AssignmentResult);
        return { index, ...itemOf(result) };
      }),
    };
  },
});

/** Returns the wanted assignment, or the refusal if one of its times cannot be stored. */
function wantedOf(one: Static<typeof Element>, index: number): WantedAssignment | DomainError {
  const at = (name: 'effective_from' | 'effective_to') => instant(one[name], `role_assignments[${index}].${name}`);
  try {
    return {
      identityId: one.identity_id,
      roleId: one.role_id,
      nodeId: one.node_id ?? null,
      effectiveFrom: at('effective_from'),
      effectiveTo: at('effective_to'),
      notifyHolder: one.notify_holder ?? false,
    };
  } catch (error) {
    if (error instanceof DomainError) return error;
    throw error;
  }
}

const failed = (error: DomainError) => ({ status: 'failed', id: null, error: itemError(error) });

function itemOf(result: AssignmentResult | DomainError) {
  if (result instanceof DomainError) return failed(result);
  if (result.status === 'failed') return failed(result.error);
  return { status: result.status, id: result.assignment.id, error: null };
}

export const unassignRoles = operation({
  ...common,
  id: 'unassignRoles',
  method: 'DELETE',
  path: '/role-assignments',
  summary: 'Delete role assignments in bulk',
  description:
    'Each assignment is processed independently, up to 1000 of them: one that does not exist, or that the caller may not ' +
    'delete, has an `error` and does not prevent the others from being deleted.',
  permission: mayAssign,
  retriedWithoutAccess: true,
  body: Body({ assignment_ids: Type.Array(Id, { minItems: 1, maxItems: 1000 }) }),
  events: ['role_assignment.deleted'],
  answers: { 200: itemsOf('RoleUnassignmentItem', 'removed', 'failed') },
  async handle({ services, scope, caller, body }) {
    const ids = body.assignment_ids;
    const codes = await services.assignments.removeAll(scope, caller, ids);
    return {
      items: codes.map((code, index) => ({
        index,
        status: code ? 'failed' : 'removed',
        id: ids[index] as string,
        error: code && itemError(new DomainError(code)),
      })),
    };
  },
});
