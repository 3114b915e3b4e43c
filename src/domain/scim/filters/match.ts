import { asBoolean } from '../booleans.js';
import { ScimRefused } from '../refusal.js';
import { type Attribute, subAttribute } from '../schema.js';
import type { Comparison, Filter, FilterValue } from './syntax.js';

/** Whether a value of a multi-valued attribute matches the filter of a PATCH path. @throws ScimRefused invalidFilter */
export function matchesFilter(filter: Filter, attribute: Attribute, value: Record<string, unknown>): boolean {
  switch (filter.op) {
    case 'and':
      return filter.filters.every((one) => matchesFilter(one, attribute, value));
    case 'or':
      return filter.filters.some((one) => matchesFilter(one, attribute, value));
    case 'not':
      return !matchesFilter(filter.filter, attribute, value);
    case '[]':
      throw new ScimRefused('invalidFilter', 'Brackets cannot be nested');
    default: {
      const sub = subAttribute(attribute, filter.path);
      if (!sub) throw new ScimRefused('invalidFilter', `${attribute.name} has no ${filter.path.slice(0, 200)}`);
      const found = value[sub.name];
      return filter.op === 'pr' ? isPresent(found) : compare(filter.op, sub, found, filter.value);
    }
  }
}

const isPresent = (value: unknown): boolean => value !== undefined && value !== null && value !== '';

function compare(op: Comparison, sub: Attribute, found: unknown, wanted: FilterValue): boolean {
  const folded = (value: unknown) => (typeof value === 'string' && !sub.caseExact ? value.toLowerCase() : value);
  const comparable = sub.type === 'boolean' ? asBoolean(wanted) : wanted;
  const [left, right] = [folded(found ?? null), folded(comparable)];
  if (op === 'eq') return left === right;
  if (op === 'ne') return left !== right;
  if (typeof left !== 'string' || typeof right !== 'string') return false;
  const holds: Record<Exclude<Comparison, 'eq' | 'ne'>, boolean> = {
    co: left.includes(right),
    sw: left.startsWith(right),
    ew: left.endsWith(right),
    gt: left > right,
    ge: left >= right,
    lt: left < right,
    le: left <= right,
  };
  return holds[op];
}
