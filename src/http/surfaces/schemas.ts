import { type Static, type TObjectOptions, type TProperties, type TSchema, Type } from 'typebox';
import { invalidField } from '../../domain/errors.js';
import { uuidPattern } from '../../platform/uuid.js';
import { invisible, offLine } from '../../platform/visible.js';
import { worded } from './validation-words.js';

/** OpenAPI 3.0 has `nullable` instead of JSON Schema's union with null; validator and serializer support it, too. */
export const Nullable = <S extends TSchema>(schema: S) => {
  const { enum: values } = schema as { enum?: unknown[] };
  // OpenAPI 3.0.3 allows null only if the enum lists it.
  return Type.Unsafe<Static<S> | null>({ ...schema, ...(values && { enum: [...values, null] }), nullable: true });
};

/** One of some strings. */
export const OneOf = <const V extends string>(
  values: readonly V[],
  options: { title?: string; description?: string; default?: V } = {},
) => Type.Unsafe<V>({ type: 'string', enum: [...values], ...options });

/**
 * One of some strings in an answer, to which a release may add. The document names them, but not as an `enum`: clients
 * that are generated from one refuse the whole answer because of an unknown value.
 */
export const Growing = <const V extends string>(values: readonly V[], description = '') => {
  const known = values.map((value) => `\`${value}\``).join(', ');
  const described = `${description} Known values, to which more may be added: ${known}.`.trim();
  return Type.Unsafe<V>({ type: 'string', 'x-extensible-enum': [...values], description: described });
};

export const Id = Type.String({ format: 'uuid' });
/** The parameters of a path that ends with an id. */
export const ById = Type.Object({ id: Id });
/** For a query: an id, or the word `none` for resources without one. */
export const idOrNone = (description: string) =>
  Type.String({ pattern: worded(`^(none|${uuidPattern})$`, 'must be a UUID or `none`'), description });
export const noneIsNull = (id: string | undefined): string | null | undefined => (id === 'none' ? null : id);
export const Timestamp = Type.String({ format: 'date-time' });
export const SessionEnd = Type.String({
  format: 'date-time',
  description: 'At the latest: an unused session ends earlier if the environment has `session_idle_ttl_seconds`.',
});
export const Url = Type.String({ format: 'uri', maxLength: 2048 });
/** A URL that other people get as a link or an image: never a `javascript:` one, wherever they use it. */
export const WebUrl = Type.String({
  ...Url,
  pattern: worded('^[Hh][Tt][Tt][Pp][Ss]?://', 'must be an http or https URL'),
});
/** A URL that the hosted pages' policy lets a browser load (`pages/urls.ts`): any other would never be shown. */
export const LogoUrl = Type.String({
  ...Url,
  pattern: worded(
    '^([Hh][Tt][Tt][Pp][Ss]://|data:image/(png|jpeg|gif|webp|svg\\+xml)[;,])',
    'must be an https URL, or an image in a data: URL',
  ),
  description: 'An `https` URL, or an image in a `data:` URL.',
});
/** An address that is going to be stored, within the bounds of RFC 5321 (`isMailAddress`). */
export const Email = Type.String({ format: 'email', maxLength: 254 });
/**
 * An address that is only looked up: a stored one may be older than those bounds. An unknown address is answered like a
 * known one.
 */
export const TypedEmail = Type.String({ format: 'idn-email', maxLength: 254 });
const printable = `[^${offLine}]`;
/**
 * Text of one line, without control characters, and with at least one visible character (contract §1); the handler
 * trims it. Each character fits one part of the pattern only, so that a long text is matched in linear time.
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
/** The token of a mailed link. The answer is the same, whatever is wrong with it. */
export const InviteToken = Type.String({ description: 'From the emailed link.' });
/** A name that people give to something of their own, such as a passkey. */
export const Label = line(100);
/** A description of any number of lines, stored and returned exactly as sent, so that a comparison finds no change. */
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
/** Metadata in a request; the domain refuses a larger object (contract §1). */
export const SentMetadata = Type.Unsafe<Record<string, unknown>>({ ...Metadata, 'x-max-bytes': 16 * 1024 });

/**
 * A request body, or an object in one: unknown fields are refused (contract §1).
 * @param title for the elements of an array
 */
export const Body = <P extends TProperties>(properties: P, title?: string) =>
  Type.Object(properties, { additionalProperties: false, ...(title && { title }) });

/** A resource in answers; `title` is its name in the OpenAPI document, and so in the types of clients. */
export const Resource = <P extends TProperties>(title: string, properties: P, options: TObjectOptions = {}) =>
  Type.Object(properties, { title, ...options });

/** An Account, an Application or an Environment, as a part of another resource. */
export const NamedView = Resource('NamedResource', { id: Id, name: Type.String(), slug: Type.String() });

/** The administrator who is signed in. */
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
 * Returns the instant that a `Timestamp` names. Some date-times of RFC 3339 cannot be stored: a leap second; a year
 * that an offset moves out of those that RFC 3339 can write; and the year 0, which PostgreSQL writes as 1 BC, and no
 * `Date` can parse that.
 */
export function instantOf(text: string, field: string): Date {
  const instant = new Date(text);
  const year = instant.getUTCFullYear(); // NaN if there is no such instant
  if (!(year >= 1 && year <= 9999)) throw invalidField(field, 'instant', 'is not a time that can be stored');
  return instant;
}
