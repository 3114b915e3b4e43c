import { Type } from 'typebox';
import type { FoundPage, SearchPage } from '../../domain/access/decisions/search.js';
import { invalidField } from '../../domain/errors.js';
import { uuid } from '../../platform/uuid.js';
import { always } from '../surfaces/lists.js';
import { operation } from '../surfaces/operation.js';
import {
  Action,
  AnsweredPage,
  AskedPage,
  asking,
  Context,
  identityOf,
  nodeOf,
  Resource,
  ResourceType,
  Subject,
  SubjectType,
} from './shapes.js';

const more = { context: Type.Optional(Context), page: AskedPage };
const answer = <S extends Type.TSchema>(result: S) => ({
  200: Type.Object({ results: Type.Array(result), page: AnsweredPage }),
});
const Typed = Type.Object({ type: Type.String(), id: Type.String() }, { title: 'AuthzenEntity' });
const nobody: FoundPage = { ids: [], next: null };
const usual = 100;

export const searchSubjects = operation({
  ...asking,
  id: 'accessSearchSubject',
  path: '/search/subject',
  summary: 'Search subjects (AuthZEN 1.0 §8.1): who has a permission at a node',
  body: Type.Object(
    { subject: SubjectType, action: Action, resource: Resource, ...more },
    { additionalProperties: true },
  ),
  answers: answer(Typed),
  isBroad: always,
  async handle({ services, scope: { environmentId }, body: { subject, action, resource, page } }) {
    const nodeId = nodeOf(resource, environmentId);
    const asked = { nodeId: nodeId ?? null, permission: action.name };
    const isAbout = subject.type === 'identity' && nodeId !== undefined;
    const found = isAbout ? await services.accessSearch.subjects(environmentId, asked, pageOf(page)) : nobody;
    return answered(found, (id) => ({ type: 'identity', id }));
  },
});

export const searchResources = operation({
  ...asking,
  id: 'accessSearchResource',
  path: '/search/resource',
  summary: 'Search resources (AuthZEN 1.0 §8.2): where a subject has a permission',
  body: Type.Object(
    { subject: Subject, action: Action, resource: ResourceType, ...more },
    { additionalProperties: true },
  ),
  answers: answer(Typed),
  isBroad: always,
  async handle({ services, scope: { environmentId }, body: { subject, action, resource, page } }) {
    const identityId = identityOf(subject);
    const asked = { identityId: identityId ?? '', permission: action.name };
    const found = async () => {
      const at = pageOf(page);
      if (identityId === null) return nobody;
      if (resource.type === 'node') return services.accessSearch.resources(environmentId, asked, at);
      if (resource.type !== 'environment' || at.after !== null) return nobody;
      // There is only this Environment, which stands for its root node.
      const [decided] = await services.evaluation.evaluate(environmentId, [{ ...asked, nodeId: null }]);
      return { ids: decided?.allowed ? [environmentId] : [], next: null };
    };
    return answered(await found(), (id) => ({ type: resource.type, id }));
  },
});

export const searchActions = operation({
  ...asking,
  id: 'accessSearchAction',
  path: '/search/action',
  summary: 'Search actions (AuthZEN 1.0 §8.3): which permissions a subject has at a node',
  body: Type.Object({ subject: Subject, resource: Resource, ...more }, { additionalProperties: true }),
  answers: answer(Type.Object({ name: Type.String() }, { title: 'AuthzenAction' })),
  async handle({ services, scope: { environmentId }, body: { subject, resource, page } }) {
    const [identityId, nodeId] = [identityOf(subject), nodeOf(resource, environmentId)];
    const isAbout = identityId !== null && nodeId !== undefined;
    const found = isAbout
      ? await services.accessSearch.actions(environmentId, { identityId, nodeId }, pageOf(page, /^[\w:.-]{1,150}$/))
      : nobody;
    return answered(found, (name) => ({ name }));
  },
});

/** A page token names the last result of the previous page; a token that is not ours is refused. */
function pageOf(page: { token?: string; limit?: number } | undefined, form = uuid): SearchPage {
  const { token = '', limit = usual } = page ?? {};
  const after = token === '' ? null : Buffer.from(token, 'base64url').toString();
  if (after !== null && !form.test(after)) throw invalidField('page.token', 'unknown', 'is not a page token');
  return { after, limit };
}

const answered = <R>({ ids, next }: FoundPage, result: (id: string) => R) => ({
  results: ids.map(result),
  page: { next_token: next === null ? '' : Buffer.from(next).toString('base64url') },
});
