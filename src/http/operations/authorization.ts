import { Type } from 'typebox';
import type { ExplainedReason, Explanation, SeenAssignment } from '../../domain/access/decisions/explained.js';
import { operation } from '../surfaces/operation.js';
import { Body, Id, instantOf, Nullable, Resource, single, Timestamp } from '../surfaces/schemas.js';

const Check = {
  identity_id: Id,
  permission: Type.String({ minLength: 1, maxLength: 150 }),
  node_id: Type.Optional(Nullable(Id)),
};
const AsOf = { as_of: Type.Optional(Nullable(Timestamp)) };
const Decision = Resource('Decision', {
  allowed: Type.Boolean(),
  reason: Type.String({
    description:
      '`granted`, or the reason for the denial: `identity_not_found`, `node_not_found`, `permission_not_found`, ' +
      '`identity_inactive`, `node_inactive`, `no_assignment`, `outside_window`, `role_inactive`.',
  }),
});
const Named = Resource('NamedReference', { id: Id, name: Type.String() });
const Window = { effective_from: Nullable(Timestamp), effective_to: Nullable(Timestamp) };

const checkOf = (body: { identity_id: string; permission: string; node_id?: string | null }) => ({
  identityId: body.identity_id,
  permission: body.permission,
  nodeId: body.node_id ?? null,
});
const asOfOf = (text: string | null | undefined) => (text == null ? undefined : instantOf(text, 'as_of'));

const common = {
  tag: 'Authorization',
  level: 'environment',
  method: 'POST',
  permission: 'authorization.evaluate',
  capability: 'env_permissions.view',
} as const;
const about =
  "Without `node_id`, the check is made at the environment's root. `as_of` (default: now) may be in the future or in " +
  'the past; for the past, assignments count as they were then, except those that ended longer ago than the audit log ' +
  'is kept. `outside_window` is returned for a month after an assignment ends.';

export const evaluate = operation({
  ...common,
  id: 'evaluate',
  path: '/authorization/evaluate',
  summary: 'Check whether an identity has a permission',
  description: about,
  body: Body({ ...Check, ...AsOf }),
  events: [],
  answers: { 200: single(Decision) },
  async handle({ services, scope, body }) {
    const [data] = await services.evaluation.evaluate(scope.environmentId, [checkOf(body)], asOfOf(body.as_of));
    return { data };
  },
});

export const evaluateBulk = operation({
  ...common,
  id: 'evaluateBulk',
  path: '/authorization/evaluate/bulk',
  summary: 'Check up to 1000 permissions at once',
  description: `Results are in the order of the checks. ${about}`,
  body: Body({ checks: Type.Array(Body(Check, 'PermissionCheck'), { minItems: 1, maxItems: 1000 }), ...AsOf }),
  events: [],
  answers: { 200: single(Type.Object({ results: Type.Array(Decision) })) },
  handle: async ({ services, scope, body }) => ({
    data: {
      results: await services.evaluation.evaluate(scope.environmentId, body.checks.map(checkOf), asOfOf(body.as_of)),
    },
  }),
});

const Seen = { assignment_id: Id, role: Named, node: Named, ...Window };

export const explain = operation({
  ...common,
  id: 'explain',
  path: '/authorization/explain',
  summary: 'Explain why an identity has a permission, or why not',
  description: `Returns the assignment that decides, with the path of its node, or every reason for the denial. ${about}`,
  body: Body({ ...Check, ...AsOf }),
  events: [],
  answers: {
    200: single(
      Resource('Explanation', {
        ...Decision.properties,
        decision: Nullable(Type.Object({ ...Seen, path: Type.Array(Named, { description: 'From the root down.' }) })),
        reasons: Type.Array(
          Resource('ExplanationReason', {
            code: Type.String({
              description: 'A reason of a decision, or `role_lacks_permission`, `assigned_elsewhere`, `removed`.',
            }),
            message: Type.String(),
            assignment_id: Nullable(Id),
            role: Nullable(Named),
            node: Nullable(Named),
            ...Window,
          }),
        ),
      }),
    ),
  },
  handle: async ({ services, scope, body }) => ({
    data: present(await services.explanations.explain(scope.environmentId, checkOf(body), asOfOf(body.as_of))),
  }),
});

const present = ({ allowed, reason, decision, reasons }: Explanation) => ({
  allowed,
  reason,
  decision: decision && { ...seen(decision), path: decision.path },
  reasons: reasons.map((each) => ({ code: each.code, message: each.message, ...seen(each) })),
});

const seen = ({ assignmentId, role, node, effectiveFrom, effectiveTo }: Partial<SeenAssignment> | ExplainedReason) => ({
  assignment_id: assignmentId ?? null,
  role: role ?? null,
  node: node ?? null,
  effective_from: effectiveFrom ?? null,
  effective_to: effectiveTo ?? null,
});
