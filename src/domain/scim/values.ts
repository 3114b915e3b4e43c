import { isStorable } from '../../platform/database/storable.js';
import { isObject } from '../is-object.js';
import { asBoolean } from './booleans.js';
import { ScimRefused } from './refusal.js';
import { type Attribute, attributeOf, type Resource, type ResourceKind, schemaOf, subAttribute } from './schema.js';

const maxTextLength = 1000;
/** The most values of one attribute in one request. */
export const maxValues = 1000;

/** The most bytes of a text with an index: PostgreSQL has room for 2704, less what else is in it. */
const maxIndexedLength = 2500;

const invalid = (problem: string) => new ScimRefused('invalidValue', problem);

/**
 * Reads a resource that a client sends, with names as in the schemas. Read-only and unknown attributes are left out:
 * clients may send back what they have read (RFC 7644 §3.5.1).
 * @throws ScimRefused invalidSyntax, invalidValue
 */
export function readResource(kind: ResourceKind, body: unknown): Resource {
  if (!isObject(body)) throw new ScimRefused('invalidSyntax', 'The body must be an object');
  const resource: Resource = {};
  for (const [name, value] of Object.entries(body)) {
    const extension = schemaOf(kind, name);
    if (extension && extension !== kind.schema) {
      if (isUnassigned(value)) continue;
      if (!isObject(value)) throw invalid(`${extension.id} must be an object`);
      const read = readSubs(extension.attributes, value, extension.id);
      if (Object.keys(read).length > 0) resource[extension.id] = read;
    } else {
      const attribute = attributeOf(kind.schema, name, kind);
      if (attribute && attribute.mutability !== 'readOnly') assign(resource, attribute, value);
    }
  }
  return resource;
}

function assign(into: Resource, attribute: Attribute, value: unknown): void {
  const read = readValue(attribute, value);
  if (read !== undefined) into[attribute.name] = read;
}

/** Null, an empty list and an empty object mean unassigned (RFC 7643 §2.5). */
export const isUnassigned = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  (Array.isArray(value) && value.length === 0) ||
  (isObject(value) && Object.keys(value).length === 0);

/** Whether one of several values has no `value`: it was removed, or is the empty text. */
export const hasNoValue = ({ value }: Resource): boolean => value === undefined || value === '';

/**
 * The value of an attribute, or undefined where it is unassigned.
 * @throws ScimRefused invalidValue
 */
export function readValue(attribute: Attribute, value: unknown): unknown {
  if (isUnassigned(value)) return undefined;
  if (!attribute.multiValued) return readOne(attribute, value);
  const many = Array.isArray(value) ? value : [value];
  if (many.length > maxValues) throw invalid(`${attribute.name} has more than ${maxValues} values`);
  return gathered(attribute, many.map((one) => readOne(attribute, one)) as Resource[]);
}

/**
 * Values that were read already, as those of one attribute; undefined if none is left.
 * @throws ScimRefused invalidValue
 */
export function gathered({ name }: Attribute, values: readonly Resource[]): Resource[] | undefined {
  if (values.length > maxValues) throw invalid(`${name} has more than ${maxValues} values`);
  const left = values.filter((one) => !isUnassigned(one));
  if (left.filter(({ primary }) => primary === true).length > 1)
    throw invalid(`${name} has more than one primary value`);
  return left.length > 0 ? left : undefined;
}

function readOne(attribute: Attribute, value: unknown): unknown {
  const { name, type, subAttributes } = attribute;
  if (type === 'complex') {
    // A manager or an address that is sent as a text is its value, as some directories do.
    const object = typeof value === 'string' && subAttribute(attribute, 'value') ? { value } : value;
    if (!isObject(object)) throw invalid(`${name} must be an object`);
    const read = readSubs(subAttributes ?? [], object, name);
    // This is how Entra ID clears a manager.
    return !attribute.multiValued && read.value === '' ? undefined : read;
  }
  if (type === 'boolean') {
    const read = asBoolean(value);
    if (typeof read !== 'boolean') throw invalid(`${name} must be true or false`);
    return read;
  }
  if (typeof value !== 'string') throw invalid(`${name} must be a string`);
  if (value.length > maxTextLength) throw invalid(`${name} is longer than ${maxTextLength} characters`);
  if (!isStorable(value)) throw invalid(`${name} has a character that cannot be stored`);
  return value;
}

/**
 * Checks a text by which people and groups are found, also in lower case, which can be longer.
 * @param before the text that it replaces, which may stay
 * @throws ScimRefused invalidValue
 */
export function assertIndexable(name: string, text: string | null, before: unknown): void {
  if (text === null || text === before) return;
  if (Math.max(...[text, text.toLowerCase()].map((one) => Buffer.byteLength(one))) > maxIndexedLength)
    throw invalid(`${name} is longer than ${maxIndexedLength} bytes`);
}

function readSubs(attributes: readonly Attribute[], object: Record<string, unknown>, at: string): Resource {
  const read: Resource = {};
  for (const [name, value] of Object.entries(object)) {
    const attribute = attributes.find((one) => one.name.toLowerCase() === name.toLowerCase());
    if (!attribute || attribute.mutability === 'readOnly') continue;
    try {
      assign(read, attribute, value);
    } catch (error) {
      throw error instanceof ScimRefused ? new ScimRefused(error.kind, `${at}: ${error.detail}`) : error;
    }
  }
  return read;
}
