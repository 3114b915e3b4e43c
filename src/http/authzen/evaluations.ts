import { type Static, Type } from 'typebox';
import type { Check, Decision as Decided } from '../../domain/access/evaluate.js';
import { invalidField } from '../../domain/errors.js';
import type { Services } from '../../services.js';
import { operation } from '../operation.js';
import { OneOf } from '../schemas.js';
import { Action, Context, Decision, identityOf, nodeOf, Resource, Subject } from './shapes.js';

const Parts = { subject: Subject, action: Action, resource: Resource };
type Part = keyof typeof Parts;
type Question = Static<Type.TObject<typeof Parts>>;

const semantics = ['execute_all', 'deny_on_first_deny', 'permit_on_first_permit'] as const;
const common = {
  tag: 'AuthZEN',
  level: 'environment',
  method: 'POST',
  events: [],
  permission: 'authorization.evaluate',
} as const;
const about =
  'Subject type `identity`; resource type `node`, or `environment` with its id for the root; the action is the key of a permission.';

/** All of them in one round trip. What names no Identity or node here is denied without asking. */
async function decide(services: Services, environmentId: string, questions: readonly Question[]) {
  const checks = questions.map(({ subject, action, resource }): Check | Decided => {
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
  ...common,
  id: 'accessEvaluation',
  path: '/evaluation',
  summary: 'Access Evaluation (AuthZEN 1.0 §6)',
  description: about,
  body: Type.Object({ ...Parts, context: Type.Optional(Context) }, { additionalProperties: true }),
  answers: { 200: Decision },
  handle: async ({ services, scope, body }) => (await decide(services, scope.environmentId, [body]))[0],
});

export const accessEvaluations = operation({
  ...common,
  id: 'accessEvaluations',
  path: '/evaluations',
  summary: 'Access Evaluations (AuthZEN 1.0 §7)',
  description: `What an evaluation leaves out, it takes from the request's own. ${about}`,
  body: Type.Object(
    {
      ...Type.Partial(Type.Object(Parts)).properties,
      context: Type.Optional(Context),
      evaluations: Type.Optional(
        Type.Array(
          Type.Object(
            { ...Type.Partial(Type.Object(Parts)).properties, context: Type.Optional(Context) },
            { additionalProperties: true },
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
      // Without evaluations it is answered like a single one (§7.1).
      decision: Type.Optional(Type.Boolean()),
      context: Type.Optional(Type.Object({ reason: Type.String() })),
    }),
  },
  async handle({ services, scope, body }) {
    const { evaluations = [], options } = body;
    if (evaluations.length === 0) {
      return (await decide(services, scope.environmentId, [complete(body, {}, '')]))[0];
    }
    const questions = evaluations.map((each, i) => complete(each, body, `evaluations[${i}].`));
    const decided = await decide(services, scope.environmentId, questions);
    return { evaluations: decided.slice(0, lengthBy(options?.evaluations_semantic, decided)) };
  },
});

type Some = { [P in Part]?: Question[P] };

function complete(own: Some, defaults: Some, field: string): Question {
  const part = <P extends Part>(name: P): Question[P] => {
    const value = own[name] ?? defaults[name];
    if (!value) throw invalidField(`${field}${name}`, 'required', 'is missing, here and in the request');
    return value as Question[P];
  };
  return { subject: part('subject'), action: part('action'), resource: part('resource') };
}

/** Up to and with the first that ends it (§7.1.2.1). */
function lengthBy(semantic: (typeof semantics)[number] | undefined, decided: readonly { decision: boolean }[]): number {
  if (semantic === undefined || semantic === 'execute_all') return decided.length;
  const first = decided.findIndex(({ decision }) => decision === (semantic === 'permit_on_first_permit'));
  return first === -1 ? decided.length : first + 1;
}
