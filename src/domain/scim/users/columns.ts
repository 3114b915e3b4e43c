import type { Directory } from '../directory.js';
import { targetOf } from '../filters/attribute-path.js';
import { type Column, type ColumnOf, ofSub } from '../filters/sql.js';
import { userKind } from '../kinds.js';
import type { Attribute } from '../schema.js';
import { expressions } from './rows.js';

const text = (sql: string): Column => ({ type: 'text', sql });
const exact = (sql: string): Column => ({ type: 'exact', sql });

/** Returns the SQL of Users' attributes, to be used with `peopleOf`. */
export const userColumns = (directory: Directory): ColumnOf => {
  const { active, userName, created, lastModified } = expressions(directory);
  const own: Record<string, Column> = {
    id: { type: 'id', sql: 'i.id' },
    externalid: exact('s.external_id'),
    username: text(userName),
    active: { type: 'boolean', sql: active },
    'name.givenname': text('i.first_name'),
    'name.familyname': text('i.last_name'),
    'meta.resourcetype': exact(`'User'`),
    'meta.created': { type: 'instant', sql: created },
    'meta.lastmodified': { type: 'instant', sql: lastModified },
  };
  const columnOf: ColumnOf = (path) => {
    const target = targetOf(userKind, path);
    const { attribute, sub } = target ?? {};
    if (!target || !attribute) return null;
    const isCore = target.schema === userKind.schema;
    const name = `${attribute.name}${sub ? `.${sub.name}` : ''}`.toLowerCase();
    const found = isCore ? own[name] : undefined;
    if (found) return found;
    if (attribute.multiValued) {
      const several = severalOf(attribute);
      return sub ? ofSub(several, sub.name) : several;
    }
    if (attribute.type === 'complex' && !sub) {
      const parts = (attribute.subAttributes ?? []).map(({ name: part }) => columnOf(`${path}.${part}`));
      return { type: 'complex', parts: parts.filter((part) => part !== null) };
    }
    if (attribute.name === 'meta') return null;
    // Names from the schemas, so nothing of a request becomes part of the text.
    const at = [...(isCore ? [] : [target.schema.id]), attribute.name, ...(sub ? [sub.name] : [])];
    const sql = `s.attributes #>> '{${at.map((one) => `"${one}"`).join()}}'`;
    return (sub ?? attribute).caseExact ? exact(sql) : text(sql);
  };
  return columnOf;
};

function severalOf(attribute: Attribute): Extract<Column, { type: 'several' }> {
  const subColumn = (name: string): Column | null => {
    const sub = attribute.subAttributes?.find((one) => one.name.toLowerCase() === name.toLowerCase());
    if (!sub) return null;
    if (sub.type === 'boolean') return { type: 'boolean', sql: `(e.value->>'${sub.name}')::boolean` };
    return text(`e.value->>'${sub.name}'`);
  };
  if (attribute.name === 'groups') return { type: 'several', rows: groups, of: groupColumn };
  const stored = `s.attributes->'${attribute.name}'`;
  if (attribute.name !== 'emails')
    return { type: 'several', rows: `jsonb_array_elements(coalesce(${stored}, '[]')) e`, of: subColumn };
  const rows = `jsonb_array_elements(coalesce(${stored}, '[{"primary":true}]')) e`;
  // The primary address is the Identity's.
  return {
    type: 'several',
    rows,
    of: (name) =>
      name.toLowerCase() === 'value' ? text(`coalesce(e.value->>'value', i.email::text)`) : subColumn(name),
  };
}

const groups = `(select g.id, g.display_name from scim_group_members gm join scim_groups g on g.id = gm.group_id
  where gm.environment_id = m.environment_id and gm.identity_id = m.identity_id and g.directory_id = $3) e`;
const groupColumns = new Map<string, Column>([
  ['value', { type: 'id', sql: 'e.id' }],
  ['display', text('e.display_name')],
]);
const groupColumn = (name: string): Column | null => groupColumns.get(name.toLowerCase()) ?? null;
