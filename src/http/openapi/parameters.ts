import { type DocumentedOperation, type DocumentedParameter, isReference } from './document.js';

/** Descriptions of parameters that many operations have, if a declaration has none of its own. */
const known: Record<string, string> = {
  accountSlug: 'The slug of the account.',
  appSlug: 'The slug of the application.',
  envSlug: 'The slug of the environment.',
  page: 'The number of the page, from 1.',
  take: 'The maximum number of items on a page.',
  sort_by:
    "The field to sort by; items with equal values are sorted by `id`. Text is sorted by the database's collation, which " +
    'in the embedded database is by code points (`Z` before `a`, `z` before `ä`); email addresses of people and names of ' +
    'roles are sorted regardless of case.',
  order: 'Ascending or descending.',
  cascade: 'Whether everything below it is deleted too; without it, the request is refused if there is anything below.',
  depth: 'The number of levels below it; without it, all.',
  format: 'The format of the rows.',
  limit: 'The maximum number of items.',
  node_id: 'The node to check; without it, the root.',
  permission: 'The key of the permission.',
};

/** Describes an operation's parameters; any unknown one in the query of a list or an export is a filter. */
export function describeParameters({ parameters = [], description: text = '' }: DocumentedOperation): void {
  const named = parameters.filter((one): one is DocumentedParameter => !isReference(one));
  const isNarrowed = named.some(({ name }) => name === 'take' || name === 'format');
  for (const parameter of named) {
    const isFilter = isNarrowed && parameter.in === 'query';
    const description = known[parameter.name] ?? (isFilter ? `Only items with this \`${parameter.name}\`.` : null);
    if (description) parameter.description ??= description;
    // Clients and forms show the parameter's own description, so it repeats what the list's text says about `q`.
    const searched = parameter.name === 'q' && /`q` searches ([^.;]+)/.exec(text)?.[1];
    if (searched) parameter.description = `Substring filter: ${searched}.`;
  }
}
