import { type Static, Type } from 'typebox';
import type { Check, Decision as Decided, Reason } from '../../domain/access/decisions/evaluate.js';
import { invalidField } from '../../domain/errors.js';
import { isStorable } from '../../platform/database/storable.js';
import type { Services } from '../../services.js';
import { operation } from '../surfaces/operation.js';
import { OneOf } from '../surfaces/schemas.js';
import { Action, asking, Context, Decision, identityOf, nodeOf, Resource, Subject } from './shapes.js';

const Parts = { subject: Subject, action: Action, resource: Resource };
type Part = keyof typeof Parts;
type Question = Static<Type.TObject<typeof Parts>>;

const semantics = ['execute_all', 'deny_on_first_deny', 'permit_on_first_permit'] as const;
const about =
  'Subject type `identity`; resource type `node`, or `environment` with its ID for the root; the action is the key of ' +
  'a permission.';

interface Denied {
  allowed: false;
  reason: Reason | 'evaluation_invalid';
}

/**
 * Decides all questions in one round trip. An invalid question, or one that names no Identity or node here, is denied
 * without a query.
 */
async function decide(services: Services, environmentId: string, questions: readonly (Question | null)[]) {
  const checks = questions.map((question): Check | Denied => {
    if (question === null) return { allowed: false, reason: 'evaluation_invalid' };
    const { subject, action, resource } = question;
    const identityId = identityOf(subject);
    if (identityId === null) return { allowed: false, reason: 'identity_not_found' };
    const nodeId = nodeOf(resource, environmentId);
    if (nodeId === undefined) return { allowed: false, reason: 'node_not_found' };
    return { identityId, permission: action.name, nodeId };
  });
  const asked = checks.filter((check): check is Check => 'identityId' in check);
  const decided = asked.length > 0 ? await services.evaluation.evaluate(environmentId, asked) : [];
  let next = 0;
  return checks.map((check) => {
    const { allowed, reason } = 'identityId' in check ? (decided[next++] as Decided) : check;
    return { decision: allowed, context: { reason } };
  });
}

export const accessEvaluation = operation({
  ...asking,
  id: 'accessEvaluation',
  path: '/evaluation',
  summary: 'Evaluate access (AuthZEN 1.0 §6)',
  description: about,
  body: Type.Object({ ...Parts, context: Type.Optional(Context) }, { additionalProperties: true }),
  answers: { 200: Decision },
  handle: async ({ services, scope, body }) => (await decide(services, scope.environmentId, [body]))[0],
});

export const accessEvaluations = operation({
  ...asking,
  id: 'accessEvaluations',
  path: '/evaluations',
  summary: 'Evaluate access in bulk (AuthZEN 1.0 §7)',
  description:
    'An evaluation takes what it leaves out from the request. One that is still incomplete or malformed is denied with ' +
    `the reason \`evaluation_invalid\`, and does not prevent the others from being evaluated. ${about}`,
  eachAlone: 'evaluations',
  body: Type.Object(
    {
      ...Type.Partial(Type.Object(Parts)).properties,
      context: Type.Optional(Context),
      evaluations: Type.Optional(
        Type.Array(
          Type.Object(
            { ...Type.Partial(Type.Object(Parts)).properties, context: Type.Optional(Context) },
            { title: 'AuthzenEvaluation', additionalProperties: true },
          ),
          { maxItems: 1000 },
        ),
      ),
      options: Type.Optional(
        Type.Object({ evaluations_semantic: Type.Optional(OneOf(semantics)) }, { additionalProperties: true }),
      ),
    },
    { additionalProperties: true },
  ),
  answers: {
    200: Type.Object({
      evaluations: Type.Optional(Type.Array(Decision)),
      // Without evaluations, the answer is that to a single one (§7.1).
      decision: Type.Optional(Type.Boolean()),
      context: Type.Optional(Type.Object({ reason: Type.String() })),
    }),
  },
  async handle({ services, scope, body, refusals }) {
    const { evaluations = [], options } = body;
    if (evaluations.length === 0) {
      const question = complete(body, {});
      if (typeof question === 'string') throw invalidField(question, 'required', 'is missing');
      return (await decide(services, scope.environmentId, [question]))[0];
    }
    const questions = evaluations.map((each, i) => (refusals.has(i) ? null : questionOf(each, body)));
    const decided = await decide(services, scope.environmentId, questions);
    return { evaluations: decided.slice(0, lengthBy(options?.evaluations_semantic, decided)) };
  },
});

type Some = { [P in Part]?: Question[P] };

/** Null for a question that cannot be asked: errors of an evaluation are its own, and it is denied (§7.2.1). */
function questionOf(own: Some, defaults: Some): Question | null {
  const question = complete(own, defaults);
  return typeof question === 'string' || !isStorable(question.action.name) ? null : question;
}

/** A question, with the defaults for what it leaves out; or the name of a part that neither has. */
function complete(own: Some, defaults: Some): Question | Part {
  const { subject = defaults.subject, action = defaults.action, resource = defaults.resource } = own;
  if (!subject) return 'subject';
  if (!action) return 'action';
  return resource ? { subject, action, resource } : 'resource';
}

/** The number of decisions up to and including the first one that ends the evaluation (§7.1.2.1). */
function lengthBy(semantic: (typeof semantics)[number] | undefined, decided: readonly { decision: boolean }[]): number {
  if (semantic === undefined || semantic === 'execute_all') return decided.length;
  const first = decided.findIndex(({ decision }) => decision === (semantic === 'permit_on_first_permit'));
  return first === -1 ? decided.length : first + 1;
}
