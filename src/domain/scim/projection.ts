import { isObject } from '../is-object.js';
import { type Target, targetOf } from './filters/attribute-path.js';
import { ScimRefused } from './refusal.js';
import type { Resource, ResourceKind } from './schema.js';

/** The attributes that an answer is to have (RFC 7644 §3.9); at most one of the two lists is given. */
export interface Projection {
  attributes: readonly string[];
  excludedAttributes: readonly string[];
}

const always = ['schemas', 'id'];

/** @throws ScimRefused invalidValue where both are asked for */
export function assertProjection({ attributes, excludedAttributes }: Projection): void {
  if (attributes.length > 0 && excludedAttributes.length > 0)
    throw new ScimRefused('invalidValue', 'Send attributes or excludedAttributes, not both');
}

/** Whether an answer has this attribute at all; if not, it need not be read. */
export function wants(kind: ResourceKind, { attributes, excludedAttributes }: Projection, name: string): boolean {
  const targetsIn = (paths: readonly string[]) =>
    targetsOf(kind, paths).filter(({ attribute }) => attribute?.name === name);
  if (attributes.length > 0) return targetsIn(attributes).length > 0;
  const isExcluded = targetsIn(excludedAttributes).some(({ sub }) => sub === null); // and not only a part of it
  return !isExcluded;
}

const targetsOf = (kind: ResourceKind, paths: readonly string[]): Target[] =>
  paths.flatMap((path) => targetOf(kind, path.trim()) ?? []);

/** The part of a resource that is asked for. Unknown names are ignored. */
export function projected(kind: ResourceKind, resource: Resource, projection: Projection): Resource {
  const { attributes, excludedAttributes } = projection;
  if (attributes.length > 0) return only(kind, resource, targetsOf(kind, attributes));
  return excludedAttributes.length > 0 ? without(kind, resource, targetsOf(kind, excludedAttributes)) : resource;
}

function only(kind: ResourceKind, resource: Resource, targets: Target[]): Resource {
  const result: Resource = Object.fromEntries(
    always.flatMap((name) => (resource[name] === undefined ? [] : [[name, resource[name]]])),
  );
  for (const { schema, attribute, sub } of targets) {
    const [holder, into] = [holderOf(kind, resource, schema.id), intoOf(kind, result, schema.id)];
    if (!holder || !into) continue;
    if (!attribute) Object.assign(into, holder);
    else if (holder[attribute.name] !== undefined) {
      const value = holder[attribute.name];
      const kept = sub ? mapped(value, (one) => pick(one, sub.name)) : value;
      into[attribute.name] = sub ? merged(into[attribute.name], kept) : kept;
    }
  }
  return withoutEmptyExtensions(kind, result);
}

function without(kind: ResourceKind, resource: Resource, targets: Target[]): Resource {
  const result = structuredClone(resource);
  for (const { schema, attribute, sub } of targets) {
    const holder = holderOf(kind, result, schema.id);
    if (!attribute) delete result[schema.id];
    else if (!holder || always.includes(attribute.name)) continue;
    else if (sub) holder[attribute.name] = mapped(holder[attribute.name], (one) => drop(one, sub.name));
    else delete holder[attribute.name];
  }
  return withoutEmptyExtensions(kind, result);
}

const holderOf = (kind: ResourceKind, resource: Resource, urn: string): Resource | undefined =>
  urn === kind.schema.id ? resource : (resource[urn] as Resource | undefined);

function intoOf(kind: ResourceKind, result: Resource, urn: string): Resource {
  if (urn === kind.schema.id) return result;
  result[urn] ??= {};
  return result[urn] as Resource;
}

function withoutEmptyExtensions(kind: ResourceKind, resource: Resource): Resource {
  for (const { id } of kind.extensions) {
    const extension = resource[id];
    if (isObject(extension) && Object.keys(extension).length === 0) delete resource[id];
  }
  return resource;
}

const mapped = (value: unknown, of: (one: Resource) => Resource): unknown =>
  Array.isArray(value) ? value.map(of) : isObject(value) ? of(value) : value;
const pick = (one: Resource, name: string): Resource => (one[name] === undefined ? {} : { [name]: one[name] });
const drop = (one: Resource, name: string): Resource => {
  const { [name]: _, ...rest } = one;
  return rest;
};

/** Joins two sub-attributes of the same value that are asked for one by one. */
function merged(first: unknown, second: unknown): unknown {
  if (Array.isArray(first) && Array.isArray(second))
    return second.map((one, i) => ({ ...(first[i] as Resource), ...(one as Resource) }));
  return isObject(first) && isObject(second) ? { ...first, ...second } : second;
}
