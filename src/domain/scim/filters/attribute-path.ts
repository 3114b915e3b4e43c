import { ScimRefused } from '../refusal.js';
import { type Attribute, attributeOf, type ResourceKind, type Schema, schemaOf, subAttribute } from '../schema.js';
import { type Filter, parseFilter } from './syntax.js';

/** What a path names. Without an attribute it is a whole extension. */
export interface Target {
  schema: Schema;
  attribute: Attribute | null;
  sub: Attribute | null;
}
export interface PatchTarget extends Target {
  /** Which values of a multi-valued attribute are meant. */
  filter: Filter | null;
}

/**
 * What `[urn:]attribute[.sub]` names (RFC 7644 §3.10).
 * @returns null where the kind has no such attribute
 */
export function targetOf(kind: ResourceKind, path: string): Target | null {
  const { schema, rest } = splitUrn(kind, path);
  if (!schema) return null;
  if (rest === '') return schema === kind.schema ? null : { schema, attribute: null, sub: null };
  const [name = '', subName, ...more] = rest.split('.');
  const attribute = attributeOf(schema, name, kind);
  if (!attribute || more.length > 0) return null;
  if (subName === undefined) return { schema, attribute, sub: null };
  const sub = subAttribute(attribute, subName);
  return sub ? { schema, attribute, sub } : null;
}

function splitUrn(kind: ResourceKind, path: string): { schema: Schema | undefined; rest: string } {
  if (!/^urn:/i.test(path)) return { schema: kind.schema, rest: path };
  const whole = schemaOf(kind, path);
  if (whole) return { schema: whole, rest: '' };
  const end = path.lastIndexOf(':'); // names have none, and URNs of schemas have dots
  return { schema: schemaOf(kind, path.slice(0, end)), rest: path.slice(end + 1) };
}

/**
 * What the path of a PATCH operation names: as above, or `attribute[filter][.sub]` (RFC 7644 §3.5.2).
 * @throws ScimRefused invalidPath, invalidFilter
 */
export function patchTargetOf(kind: ResourceKind, path: string): PatchTarget {
  const [, before = path, condition, subName] = /^([^[\]]+)\[(.*)\](?:\.([\w$-]+))?$/s.exec(path) ?? [];
  const target = targetOf(kind, before);
  if (!target) throw invalid(path);
  if (condition === undefined) return { ...target, filter: null };
  const { attribute } = target;
  if (!attribute?.multiValued || target.sub) throw invalid(path);
  const sub = subName === undefined ? null : subAttribute(attribute, subName);
  if (sub === undefined) throw invalid(path);
  return { ...target, sub, filter: parseFilter(condition) };
}

const invalid = (path: string) =>
  new ScimRefused('invalidPath', `There is no attribute at the path ${path.slice(0, 200)}`);
