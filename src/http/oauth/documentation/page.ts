import { type TSchema, Type } from 'typebox';
import { PageRefusal, RedirectTo } from './json.js';

export type Documentation = Record<
  string,
  { operationId: string; summary: string; tags: string[]; [more: string]: unknown }
>;

export interface Answer {
  description: string;
  content: Record<string, { schema: TSchema }>;
}
export type Answers = Record<number, Answer | { description: string; type: string }>;

/** An optional parameter; without an `example` it gets one by its name. */
export const text = (description: string, example?: string) =>
  Type.Optional(Type.String({ description, ...(example && { example }) }));
export const signedIn = text(
  '`yes` if a sign-in that has just started the session leads here; set by our own redirect',
);

const oneOf = (schemas: TSchema[]) => (schemas.length === 1 ? (schemas[0] as TSchema) : Type.Union(schemas));

/** A page, with what a script gets instead if that has the same status. */
export const Page = (description: string, ...inJson: TSchema[]): Answer => ({
  description,
  content: {
    'text/html': { schema: Type.String() },
    ...(inJson.length > 0 && { 'application/json': { schema: oneOf(inJson) } }),
  },
});

/** An answer that only scripts get with this status. */
export const InJson = (description: string, ...schemas: TSchema[]): Answer => ({
  description,
  content: { 'application/json': { schema: oneOf(schemas) } },
});

/**
 * An operation of the hosted pages. For a script that asks for JSON, each of them answers a redirect with 200 and its
 * target, and a refusal with its reason (`pages/error-page.ts`); both are added here, not in each declaration.
 */
export const page = (
  operationId: string,
  summary: string,
  { response, ...more }: { response: Answers; [more: string]: unknown },
) => ({ operationId, summary, tags: ['Hosted login'], ...more, response: withScripts(response) });

const Gone = Page('Its subject no longer exists', PageRefusal);

function withScripts(answers: Answers): Answers {
  const whole = Object.entries(answers).map(([status, answer]) => {
    const isRefusal = status >= '400' && 'content' in answer && !('application/json' in answer.content);
    return [status, isRefusal ? Page(answer.description, PageRefusal) : answer] as const;
  });
  const all: Answers = { 404: Gone, ...Object.fromEntries(whole) };
  if (!all[303]) return all;
  const { description, content } = (all[200] ?? InJson('Instead of 303, in JSON', RedirectTo)) as Answer;
  const shown = content['application/json']?.schema;
  const inJson = shown === RedirectTo ? [RedirectTo] : [RedirectTo, ...(shown ? alternatives(shown) : [])];
  return { ...all, 200: { description, content: { ...content, 'application/json': { schema: oneOf(inJson) } } } };
}

const alternatives = (schema: TSchema): TSchema[] => ('anyOf' in schema ? (schema.anyOf as TSchema[]) : [schema]);
