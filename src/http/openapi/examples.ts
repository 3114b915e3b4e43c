import type { Schema } from './document.js';
import { exampleTime, exampleToken, exampleId as id, exampleTexts as texts } from './example-texts.js';

/** Texts that are tried if the name's own does not match the schema: a node type's key is no permission's key. */
const forms = ['site', 'invoice', 'invoice.view', 'berlin', '7d', '492817', 'https://app.example.com', id];

const formats: Record<string, string> = {
  uuid: id,
  'date-time': exampleTime.now,
  email: 'ana@example.com',
  'idn-email': 'ana@example.com',
  uri: 'https://app.example.com/callback',
};

/**
 * Returns an example of what a schema describes: its own `example` if it has one, or else made from its default,
 * values, format or name, with every property. The tests validate each example by its schema.
 */
export function exampleOf(schema: Schema, name = ''): unknown {
  if (schema.example !== undefined) return schema.example;
  if (schema.default !== undefined) return schema.default;
  const [value] = schema.enum ?? schema['x-extensible-enum'] ?? [];
  if (value !== undefined) return value;
  if (schema.anyOf?.[0]) return exampleOf(schema.anyOf[0], name);
  switch (schema.type) {
    case 'object':
      return exampleObject(schema);
    case 'array':
      return schema.items && !schema.items['x-resource'] ? [exampleOf(schema.items, name)] : [];
    case 'string':
      return exampleText(schema, name);
    case 'integer':
    case 'number':
      return Math.min(Math.max(schema.minimum ?? 1, 1), schema.maximum ?? Number.POSITIVE_INFINITY);
    case 'boolean':
      return true;
    default:
      return {};
  }
}

function exampleObject({ properties = {}, additionalProperties }: Schema): Record<string, unknown> {
  const known = Object.entries(properties).map(([name, schema]) => [name, exampleOf(schema, name)]);
  const values = typeof additionalProperties === 'object' ? additionalProperties : null;
  if (known.length === 0 && values) return { key: exampleOf(values, 'key') };
  return Object.fromEntries(known);
}

function exampleText(schema: Schema, name: string): string {
  const known =
    texts[name] ?? (/_(by|id)$/.test(name) || name === 'id' ? id : /token$/.test(name) ? exampleToken : undefined);
  const ofFormat = schema.format === 'date-time' && isEnd.test(name) ? exampleTime.later : formats[schema.format ?? ''];
  const words = name.replace(/[_-]/g, ' ').trim() || 'text';
  // A name says more than `uri` does, but is no UUID, time or address if the format asks for one.
  const isKnownFirst = !schema.format || schema.format === 'uri';
  const candidates = [...(isKnownFirst ? [known] : []), ofFormat, known, words, ...forms];
  const fits = candidates.find((text): text is string => text !== undefined && isOf(schema, text));
  return fits ?? words;
}
const isEnd = /^(to|effective_to|not_after|.*expires_at|locked_until)$/;

const isOf = ({ pattern, minLength = 0, maxLength = Number.POSITIVE_INFINITY }: Schema, text: string): boolean =>
  text.length >= minLength && text.length <= maxLength && (!pattern || new RegExp(pattern, 'u').test(text));
