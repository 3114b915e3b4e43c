import { type DocumentedOperation, type DocumentedParameter, isReference } from './document.js';

/** What parameters mean that many operations have, where a declaration says nothing of its own. */
const known: Record<string, string> = {
  accountSlug: 'Slug of the Account.',
  appSlug: 'Slug of the Application.',
  envSlug: 'Slug of the Environment.',
  page: 'Which page, from 1.',
  take: 'How many items a page has at most.',
  sort_by:
    "What to sort by; what is alike in that is sorted by `id`. Texts are in the order of the database's collation, in the embedded " +
    'one that of code points (`Z` before `a`, `z` before `ä`); addresses of people and names of roles regardless of case.',
  order: 'Whether the sort ascends or descends.',
  cascade: 'Whether all that stands below goes as well; without it, what has something below is refused.',
  depth: 'How many levels below it; without it, all.',
  format: 'How the rows are written.',
  limit: 'How many at most.',
  node_id: 'At this node; without it, at the root.',
  permission: 'Its key.',
};

/** Describes a path's frame and a query; what else a list or an export can be asked for narrows it. */
export function describeParameters({ parameters = [] }: DocumentedOperation): void {
  const named = parameters.filter((one): one is DocumentedParameter => !isReference(one));
  const isNarrowed = named.some(({ name }) => name === 'take' || name === 'format');
  for (const parameter of named) {
    const isFilter = isNarrowed && parameter.in === 'query';
    const description = known[parameter.name] ?? (isFilter ? `Only those whose \`${parameter.name}\` this is.` : null);
    if (description) parameter.description ??= description;
  }
}
