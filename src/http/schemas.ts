import { type Static, type TObjectOptions, type TProperties, type TSchema, Type } from 'typebox';
import { invalidField } from '../domain/errors.js';
import { uuidPattern } from '../platform/uuid.js';
import { invisible, offLine } from '../platform/visible.js';
import { worded } from './validation-words.js';

/** OpenAPI 3.0 says `nullable`, where JSON Schema has a union with null; validator and serializer know it too. */
export const Nullable = <S extends TSchema>(schema: S) => {
  const { enum: values } = schema as { enum?: unknown[] };
  // Values are listed in full: OpenAPI 3.0.3 lets null in only where it is one of them.
  return Type.Unsafe<Static<S> | null>({ ...schema, ...(values && { enum: [...values, null] }), nullable: true });
};

/** One of some strings. */
export const OneOf = <const V extends string>(
  values: readonly V[],
  options: { title?: string; description?: string; default?: V } = {},
) => Type.Unsafe<V>({ type: 'string', enum: [...values], ...options });

/**
 * One of some strings in an answer, to which a release may add. The document names them and calls them no enumeration: what generators
 * make of one refuses the whole answer for the sake of a value that it does not know.
 */
export const Growing = <const V extends string>(values: readonly V[], description = '') => {
  const known = values.map((value) => `\`${value}\``).join(', ');
  const told = `${description} Known values, to which more may be added: ${known}.`.trim();
  return Type.Unsafe<V>({ type: 'string', 'x-extensible-enum': [...values], description: told });
};

export const Id = Type.String({ format: 'uuid' });
/** The parameters of a path that ends with an id. */
export const ById = Type.Object({ id: Id });
/** In a query: an id, or the word `none` for what has none. */
export const idOrNone = (description: string) =>
  Type.String({ pattern: worded(`^(none|${uuidPattern})$`, 'must be a UUID or `none`'), description });
export const noneIsNull = (id: string | undefined): string | null | undefined => (id === 'none' ? null : id);
export const Timestamp = Type.String({ format: 'date-time' });
export const SessionEnd = Type.String({
  format: 'date-time',
  description: 'At the latest: an unused session ends earlier if the environment has `session_idle_ttl_seconds`.',
});
export const Url = Type.String({ format: 'uri', maxLength: 2048 });
/** Of what others put into links and pictures: no `javascript:`, whatever they do with it. */
export const WebUrl = Type.String({
  ...Url,
  pattern: worded('^[Hh][Tt][Tt][Pp][Ss]?://', 'must be an http or https URL'),
});
/** As the hosted pages' policy lets a browser load it (`pages/urls.ts`): one that it does not would never be seen. */
export const LogoUrl = Type.String({
  ...Url,
  pattern: worded(
    '^([Hh][Tt][Tt][Pp][Ss]://|data:image/(png|jpeg|gif|webp|svg\\+xml)[;,])',
    'must be an https URL, or an image in a data: URL',
  ),
  description: 'An `https` URL, or an image in a `data:` URL.',
});
/** An address that is to be somebody's, within the bounds of RFC 5321 (`isMailAddress`). */
export const Email = Type.String({ format: 'email', maxLength: 254 });
/** One that is looked up, and may be from before there were bounds. Nobody's is answered as anybody's is. */
export const TypedEmail = Type.String({ format: 'idn-email', maxLength: 254 });
const printable = `[^${offLine}]`;
/**
 * Text of one line: no control characters, and not only what shows nothing (contract §1); trimmed by whoever takes it. Each
 * character fits one part of the pattern only, so that a long text takes no longer than it has to.
 */
const linePattern = `^[${invisible}]*[^${invisible}${offLine}]${printable}*$`;
export const line = (maxLength: number, description?: string) =>
  Type.String({
    minLength: 1,
    maxLength,
    pattern: worded(linePattern, 'must be text on one line, and show something'),
    ...(description && { description }),
  });
export const Name = line(200);
/** The token of a mailed link. Whatever is wrong with one, the answer is the same. */
export const InviteToken = Type.String({ description: 'From the emailed link.' });
/** What people call something of their own. */
export const Label = line(100);
/** Of whatever has one: of any number of lines, kept and answered as it was sent, so that nobody who compares sees a change. */
export const Description = Nullable(
  Type.String({ maxLength: 1000, description: 'Kept as it is sent, blanks and an empty text too; null: none.' }),
);
export const Slug = Type.String({
  pattern: worded(
    '^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$',
    'must be 1 to 63 of a-z, 0-9 and -, without - at either end',
  ),
});
export const Metadata = Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true });
/** As it may be sent: the domain refuses what is larger (contract §1). */
export const SentMetadata = Type.Unsafe<Record<string, unknown>>({ ...Metadata, 'x-max-bytes': 16 * 1024 });

/** A request body, or an object in one: unknown fields are refused (contract §1). @param title of an element of an array */
export const Body = <P extends TProperties>(properties: P, title?: string) =>
  Type.Object(properties, { additionalProperties: false, ...(title && { title }) });

/** What is answered of a resource, under its name in the OpenAPI document, and so in the types of clients. */
export const Resource = <P extends TProperties>(title: string, properties: P, options: TObjectOptions = {}) =>
  Type.Object(properties, { title, ...options });

/** Of an Account, an Application or an Environment, beside what it is part of. */
export const NamedView = Resource('NamedResource', { id: Id, name: Type.String(), slug: Type.String() });

/** Of the administrator who is signed in. */
export const UserView = Resource('User', {
  id: Id,
  email: Type.String(),
  first_name: Type.String(),
  last_name: Type.String(),
});

/** `{ data }`, the shape of every single resource. */
export const single = <S extends TSchema>(schema: S) => Type.Object({ data: schema });

const PageMeta = Resource('Pagination', {
  page: Type.Integer(),
  take: Type.Integer(),
  item_count: Type.Integer(),
  page_count: Type.Integer(),
  has_previous_page: Type.Boolean(),
  has_next_page: Type.Boolean(),
});

/** `{ items, pagination }`, the shape of every paginated list. */
export const listOf = <S extends TSchema>(schema: S) =>
  Type.Object({ items: Type.Array(schema), pagination: PageMeta });

export const Message = single(Type.Object({ message: Type.String() }));

/**
 * The moment that a `Timestamp` names. A leap second is a date-time in RFC 3339, and no moment that can be stored. Nor is what an
 * offset puts out of the years that RFC 3339 can write, or the year 0: PostgreSQL says it as 1 BC, which no `Date` reads.
 */
export function instantOf(text: string, field: string): Date {
  const instant = new Date(text);
  const year = instant.getUTCFullYear(); // not a number where there is no such moment
  if (!(year >= 1 && year <= 9999)) throw invalidField(field, 'instant', 'is not a time that can be stored');
  return instant;
}
