import { type TProperties, Type } from 'typebox';
import { isUuid } from '../../platform/uuid.js';
import { exampleId } from '../openapi/example-texts.js';

/** What all operations of AuthZEN have in common. */
export const asking = {
  tag: 'AuthZEN',
  level: 'environment',
  method: 'POST',
  events: [],
  permission: 'authorization.evaluate',
} as const;

/** AuthZEN 1.0 §5: properties that it does not name are ignored, since policies of other services may need them. */
const Open = <P extends TProperties>(properties: P) => Type.Object(properties, { additionalProperties: true });
const Properties = { properties: Type.Optional(Type.Object({}, { additionalProperties: true })) };
const text = (example: string) => Type.String({ minLength: 1, maxLength: 255, example });
const subjectType = text('identity');
const resourceType = text('node');
const id = text(exampleId);

export const Subject = Open({ type: subjectType, id, ...Properties });
export const Action = Open({ name: text('invoice.view'), ...Properties });
export const Resource = Open({ type: resourceType, id, ...Properties });
export const SubjectType = Open({ type: subjectType, ...Properties });
export const ResourceType = Open({ type: resourceType, ...Properties });
export const Context = Type.Object({}, { additionalProperties: true });

export const Decision = Type.Object(
  {
    decision: Type.Boolean(),
    context: Type.Object({
      reason: Type.String({
        description: 'As for `/api/v1/authorization/evaluate`; in a bulk evaluation also `evaluation_invalid`.',
      }),
    }),
  },
  { title: 'AuthzenDecision' },
);
export const AskedPage = Type.Optional(
  Open({
    token: Type.Optional(Type.String({ maxLength: 500 })),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
  }),
);
export const AnsweredPage = Type.Object({ next_token: Type.String({ description: 'Empty on the last page.' }) });

export type SubjectValue = { type: string; id: string };
export type ResourceValue = { type: string; id: string };

/** The Identity that a subject names; null for anything else, about which nothing is known. */
export const identityOf = ({ type, id }: SubjectValue): string | null =>
  type === 'identity' && isUuid(id) ? id : null;

/** The node that a resource names, null for the root; undefined for a resource that cannot exist here. */
export function nodeOf({ type, id }: ResourceValue, environmentId: string): string | null | undefined {
  if (type === 'node') return isUuid(id) ? id : undefined;
  return type === 'environment' && id.toLowerCase() === environmentId ? null : undefined;
}
