import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../is-object.js';
import { type PatchTarget, patchTargetOf } from './filters/attribute-path.js';
import { matchesFilter } from './filters/match.js';
import type { Filter } from './filters/syntax.js';
import { createPatchWork, type PatchWork } from './patch-work.js';
import { ScimRefused } from './refusal.js';
import { type Attribute, attributeOf, type Resource, type ResourceKind, subAttribute } from './schema.js';
import { gathered, hasNoValue, isUnassigned, readValue } from './values.js';

export type PatchOp = 'add' | 'remove' | 'replace';
/** One change to one place. An operation without a path becomes one of these for each attribute that it names. */
export interface PatchOperation {
  op: PatchOp;
  target: PatchTarget;
  value: unknown;
}

const maxOperations = 1000;

/**
 * The operations of a PATCH body (RFC 7644 §3.5.2).
 * @throws ScimRefused invalidSyntax, invalidPath, invalidFilter, invalidValue, mutability, noTarget, tooMany
 */
export function readPatch(kind: ResourceKind, body: unknown): PatchOperation[] {
  const operations = isObject(body)
    ? body[Object.keys(body).find((key) => /^operations$/i.test(key)) ?? '']
    : undefined;
  if (!Array.isArray(operations) || operations.length === 0)
    throw new ScimRefused('invalidSyntax', 'The body must have a list of Operations');
  if (operations.length > maxOperations)
    throw new ScimRefused('tooMany', `There are more than ${maxOperations} operations`);
  return operations.flatMap((one) => readOperation(kind, one));
}

function readOperation(kind: ResourceKind, operation: unknown): PatchOperation[] {
  const { op: name, path, value } = isObject(operation) ? operation : {};
  const op = typeof name === 'string' ? name.toLowerCase() : '';
  if (op !== 'add' && op !== 'remove' && op !== 'replace')
    throw new ScimRefused('invalidSyntax', 'The op of an operation must be add, remove or replace');
  if (path !== undefined && path !== null) {
    if (typeof path !== 'string' || path.length > 4000)
      throw new ScimRefused('invalidPath', 'The path of an operation must be a string');
    const target = patchTargetOf(kind, path);
    assertWritable(op, target, value);
    return [{ op, target, value }];
  }
  if (op === 'remove') throw new ScimRefused('noTarget', 'A remove operation needs a path');
  if (!isObject(value)) throw new ScimRefused('invalidValue', 'Without a path, the value must be an object');
  return Object.entries(value).flatMap(([key, one]) => {
    // Clients that send a resource back include its id and other read-only attributes.
    if (/^(id|schemas|meta)$/i.test(key)) return [];
    const target = patchTargetOf(kind, key);
    if (target.attribute?.mutability === 'readOnly') return [];
    return [{ op, target, value: one }];
  });
}

function assertWritable(op: PatchOp, { attribute, sub, filter }: PatchTarget, value: unknown): void {
  if (attribute?.mutability === 'readOnly' || sub?.mutability === 'readOnly')
    throw new ScimRefused('mutability', `${(sub ?? attribute)?.name} cannot be changed`);
  // Naming the values to remove (`changeAll`) leaves the others.
  const isSome = sub || filter || (attribute?.multiValued && !isUnassigned(value));
  if (op === 'remove' && attribute?.required && !isSome)
    throw new ScimRefused('mutability', `${attribute.name} is required`);
}

/**
 * Applies the operations in order; returns the changed resource, and leaves the given one as it is.
 * @param work counts what the whole request compares
 * @throws ScimRefused
 */
export function patched(
  kind: ResourceKind,
  resource: Resource,
  operations: readonly PatchOperation[],
  work: PatchWork = createPatchWork(),
): Resource {
  const result = structuredClone(resource);
  for (const operation of operations) apply(kind, result, operation, work);
  return result;
}

function apply(kind: ResourceKind, resource: Resource, { op, target, value }: PatchOperation, work: PatchWork): void {
  const { schema, attribute } = target;
  if (schema === kind.schema) {
    change(resource, target as Change, op, value, work);
    return;
  }
  const extension = (resource[schema.id] ?? {}) as Resource;
  if (attribute) change(extension, target as Change, op, value, work);
  else if (op === 'remove') delete resource[schema.id];
  else {
    if (!isObject(value)) throw new ScimRefused('invalidValue', `${schema.id} must be an object`);
    for (const [name, one] of Object.entries(value)) {
      const named = attributeOf(schema, name, kind);
      if (named) change(extension, { schema, attribute: named, sub: null, filter: null }, op, one, work);
    }
  }
  if (attribute || op !== 'remove') resource[schema.id] = extension;
  if (isUnassigned(resource[schema.id])) delete resource[schema.id];
}

type Change = PatchTarget & { attribute: Attribute };

/** Changes an attribute of `holder`, which is the resource or one of its extensions. */
function change(
  holder: Resource,
  { attribute, sub, filter }: Change,
  op: PatchOp,
  value: unknown,
  work: PatchWork,
): void {
  if (attribute.multiValued) changeValues(holder, { attribute, sub, filter }, op, value, work);
  else put(holder, attribute.name, changedValue(holder[attribute.name], { attribute, sub }, op, value));
}

function changedValue(
  current: unknown,
  { attribute, sub }: Pick<Change, 'attribute' | 'sub'>,
  op: PatchOp,
  value: unknown,
): unknown {
  if (sub) {
    const object = { ...(current as Resource) };
    put(object, sub.name, op === 'remove' ? undefined : readValue(sub, value));
    return sub.name === 'value' ? withoutStaleParts(object, current as Resource | undefined) : object;
  }
  if (op === 'remove') return undefined;
  const read = readValue(attribute, value);
  if (!isObject(read) || !isObject(current) || !refersToSame(read, current)) return read;
  return merged(current, value, read);
}

/**
 * Returns a value with the sub-attributes that were sent: others stay as they are (RFC 7644 §3.5.2.3), and null removes
 * one (RFC 7643 §2.5).
 */
function merged(current: Resource, sent: unknown, read: Resource): Resource {
  const parts = isObject(sent) ? Object.entries(sent) : [];
  const removed = parts.flatMap(([name, one]) => (isUnassigned(one) ? [name.toLowerCase()] : []));
  if ('value' in current && removed.includes('value')) return read; // nothing else stays without it
  const kept = Object.entries(current).filter(([name]) => !removed.includes(name.toLowerCase()));
  return { ...Object.fromEntries(kept), ...read };
}

/** Whether a value still refers to the same thing, such as the same manager. */
const refersToSame = (sent: Resource, current: Resource): boolean => !('value' in sent) || sent.value === current.value;

/**
 * Returns a value whose `value` has changed: nothing else is known of a new one yet, and nothing is left without one.
 */
const withoutStaleParts = (object: Resource, current: Resource | undefined): Resource | undefined =>
  hasNoValue(object) ? undefined : refersToSame(object, current ?? {}) ? object : { value: object.value };

function put(holder: Resource, name: string, value: unknown): void {
  if (isUnassigned(value)) delete holder[name];
  else holder[name] = value;
}

function changeValues(
  holder: Resource,
  { attribute, sub, filter }: Omit<Change, 'schema'>,
  op: PatchOp,
  value: unknown,
  work: PatchWork,
): void {
  const before = (holder[attribute.name] ?? []) as Resource[];
  work.count(before.length, filter);
  const after =
    filter || sub ? changeSome(before, { attribute, sub, filter }, op, value) : changeAll(before, attribute, op, value);
  put(holder, attribute.name, gathered(attribute, onePrimary(before, after)));
}

function changeAll(before: Resource[], attribute: Attribute, op: PatchOp, value: unknown): Resource[] {
  const given = (readValue(attribute, value) ?? []) as Resource[];
  if (op === 'replace') return given;
  if (op === 'add') {
    const known = new Set(before.map(canonicalText));
    return [...before, ...given.filter((one) => !known.has(canonicalText(one)))];
  }
  // Some directories remove values by naming them, without a filter. Addresses have no `value`, and are named as a
  // whole.
  const nameOf = (one: Resource) => (one.value === undefined ? canonicalText(one) : JSON.stringify(one.value));
  const named = new Set(given.map(nameOf));
  return given.length === 0 ? [] : before.filter((one) => !named.has(nameOf(one)));
}

/** Returns the same text for equal values, whatever the order of their parts. */
const canonicalText = (one: Resource): string =>
  JSON.stringify(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1)));

function changeSome(
  before: Resource[],
  { attribute, sub, filter }: Omit<Change, 'schema'>,
  op: PatchOp,
  value: unknown,
): Resource[] {
  const isMeant = (one: Resource) => filter === null || matchesFilter(filter, attribute, one);
  if (op === 'remove' && !sub) return before.filter((one) => !isMeant(one));
  const parts = () => (readValue({ ...attribute, multiValued: undefined } as never, value) ?? {}) as Resource;
  const changed = (one: Resource): Resource => {
    if (!sub) return merged(one, value, parts());
    const result = { ...one };
    put(result, sub.name, op === 'remove' ? undefined : readValue(sub, value));
    return result;
  };
  // A value that is replaced as a whole (RFC 7644 §3.5.2.3) is still the one that the filter found.
  const replaced = (one: Resource) => changed(op === 'replace' && !sub ? identityOfValue(one) : one);
  // A value without its `value` is removed. Whether an address may be removed is decided where it is known which one is
  // primary.
  const isRemoved = (one: Resource, former?: Resource) =>
    hasNoValue(one) && (sub?.name === 'value' || (former !== undefined && !hasNoValue(former)));
  if (before.some(isMeant)) {
    const after = before.map((one) => (isMeant(one) ? replaced(one) : one));
    return attribute.required ? after : after.filter((one, i) => one === before[i] || !isRemoved(one, before[i]));
  }
  if (op === 'remove') return before;
  // Entra ID replaces values that do not exist yet, against RFC 7644 §3.5.2.3, and would repeat a refused change for
  // ever.
  if (!filter) throw new ScimRefused('noTarget', `The path matches no value of ${attribute.name}`);
  const added = changed(valueMatching(filter, attribute));
  return isRemoved(added) ? before : [...before, added];
}

/** Returns the parts that identify a value among those of its attribute, without everything else that it has. */
const identityOfValue = (one: Resource): Resource =>
  Object.fromEntries(Object.entries(one).filter(([name]) => ['value', 'type', 'primary'].includes(name)));

/** Returns a value that matches a filter: the beginning of one that is added where none matches. */
function valueMatching(filter: Filter, attribute: Attribute): Resource {
  if (filter.op === 'and')
    return Object.assign({}, ...filter.filters.map((one) => valueMatching(one, attribute))) as Resource;
  const sub = filter.op === 'eq' ? subAttribute(attribute, filter.path) : undefined;
  if (filter.op !== 'eq' || !sub) throw new ScimRefused('noTarget', `The path matches no value of ${attribute.name}`);
  return { [sub.name]: readValue(sub, filter.value) };
}

/** If another value becomes primary, the former one ceases to be (RFC 7644 §3.5.2). */
function onePrimary(before: Resource[], after: Resource[]): Resource[] {
  const isPrimary = (one: Resource) => one.primary === true;
  if (after.filter(isPrimary).length < 2) return after;
  const old = before.filter(isPrimary);
  return after.map((one) =>
    isPrimary(one) && old.some((other) => isDeepStrictEqual(one, other)) ? { ...one, primary: false } : one,
  );
}
