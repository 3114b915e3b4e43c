import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { broughtToOneLine, isVisible } from '../../../platform/visible.js';
import { isObject } from '../../is-object.js';
import { hasMailForm, isMailAddress } from '../../logins/address.js';
import { userKind } from '../kinds.js';
import { type PatchOperation, patched } from '../patch.js';
import { ScimRefused } from '../refusal.js';
import type { Resource } from '../schema.js';
import { assertIndexable, hasNoValue } from '../values.js';
import type { UserRow } from './rows.js';

/** The contents of a User, by where they are stored. */
export interface WantedUser {
  email: string;
  firstName: string | null;
  lastName: string | null;
  userName: string;
  externalId: string | null;
  /** Undefined if it was not sent. */
  isActive: boolean | undefined;
  attributes: Resource;
}

const maxNameLength = 200;
/** The most bytes of JSON that are stored of one User, besides its columns. */
export const maxAttributeBytes = 65_536;

/**
 * @param before the resource that it replaces: addresses in it are kept as they are
 * @throws ScimRefused invalidValue
 */
export function wantedOf(resource: Resource, before: Resource = {}): WantedUser {
  const { userName, externalId: itsId, active, name, emails, ...others } = resource;
  const externalId = (itsId as string | undefined) ?? null;
  if (typeof userName !== 'string' || userName.trim() === '') throw invalid('userName is required');
  const { givenName, familyName, ...otherNames } = (name ?? {}) as Record<string, string>;
  assertIndexable('userName', userName, before.userName);
  assertIndexable('externalId', externalId, before.externalId);
  assertKeepable(resource, before);
  const { email, kept } = addresses(userName, valuesOf(emails), before);
  const attributes = {
    ...others,
    ...(Object.keys(otherNames).length > 0 && { name: otherNames }),
    ...(kept.length > 0 && { emails: kept }),
  };
  return {
    email,
    firstName: nameOf('givenName', givenName),
    lastName: nameOf('familyName', familyName),
    userName,
    externalId,
    isActive: active as boolean | undefined,
    attributes,
  };
}

/** Stored values from before the limit may be larger, as long as nothing is added. @throws ScimRefused invalidValue */
function assertKeepable(resource: Resource, before: Resource): void {
  const size = sizeOf(resource);
  if (size > maxAttributeBytes && size > sizeOf(before))
    throw invalid(`All attributes together are longer than ${maxAttributeBytes} bytes`);
}

/**
 * Without attributes that have columns and bounds of their own, and without an only address, which is derived if none
 * was sent.
 */
function sizeOf({ name, emails, ...resource }: Resource): number {
  const kept = {
    ...resource,
    ...{ userName: undefined, externalId: undefined, active: undefined },
    name: { ...(name as Resource | undefined), givenName: undefined, familyName: undefined },
    emails: valuesOf(emails).length > 1 ? emails : undefined,
  };
  return Buffer.byteLength(JSON.stringify(kept));
}

/**
 * Returns a name on one line and trimmed, as other names (contract §1): a typed line break is no reason to refuse a
 * person.
 */
function nameOf(field: string, value: string | undefined): string | null {
  const name = broughtToOneLine(value ?? '');
  if ([...name].length > maxNameLength) throw invalid(`name.${field} is longer than ${maxNameLength} characters`);
  return isVisible(name) ? name : null;
}

const valuesOf = (emails: unknown) => (emails ?? []) as Resource[];

/** The address to sign in with: the primary one, else the first one, else the name. It is not stored twice. */
function addresses(userName: string, emails: Resource[], before: Resource): { email: string; kept: Resource[] } {
  // Otherwise a person with an address from before addresses had a limit could not even be deactivated, since clients
  // send the whole User.
  const known = [before.userName, ...valuesOf(before.emails).map(({ value }) => value)];
  const isAddress = (text: string) => isMailAddress(text) || (known.includes(text) && hasMailForm(text));
  const main = mainOf(emails);
  if (!main) {
    if (isAddress(userName)) return { email: userName, kept: [] };
    throw invalid('If userName is not an email address, emails must have one');
  }
  // A further address is removed with its value; the primary one must stay valid.
  const remaining = emails.filter((one) => one === main || !hasNoValue(one));
  for (const { value } of remaining) {
    if (typeof value !== 'string' || !isAddress(value)) throw invalid('A value of emails is not an email address');
  }
  const { value, ...rest } = main;
  return { email: value as string, kept: remaining.map((one) => (one === main ? rest : one)) };
}

const invalid = (detail: string) => new ScimRefused('invalidValue', detail);

/** The part of a User that clients write: changed by PATCH, replaced by PUT. */
export function writableOf(row: UserRow): Resource {
  const { name, emails, ...others } = row.attributes ?? {};
  const names = {
    ...(name as Resource | undefined),
    ...(row.firstName !== null && { givenName: row.firstName }),
    ...(row.lastName !== null && { familyName: row.lastName }),
  };
  const userName = row.userName ?? row.email;
  // If the name is the address and nothing else was sent, a new name is a new address.
  const isName = userName.toLowerCase() === row.email.toLowerCase();
  const kept = (emails as Resource[] | undefined) ?? (isName ? undefined : itself);
  return {
    userName,
    ...(row.externalId !== null && { externalId: row.externalId }),
    ...(Object.keys(names).length > 0 && { name: names }),
    ...others,
    active: row.isActive,
    ...(kept && { emails: kept.map((one) => ({ value: row.email, ...one })) }),
  };
}

const itself = [{ primary: true }];

/**
 * Applies operations to the part that clients write.
 * @throws ScimRefused as `patched`; mutability if another address would silently become the primary one
 */
export function patchedUser(before: Resource, operations: readonly PatchOperation[]): Resource {
  const after = withoutStaleName(patched(userKind, before, operations), before, operations);
  const sent = valuesOf(after.emails);
  // In a new list, the order tells which is primary; an empty list says nothing about it.
  const isListed = operations.some(({ op, target: { attribute, sub, filter } }) => {
    return op === 'replace' && attribute?.name === 'emails' && !sub && !filter && sent.length > 0;
  });
  if (isListed || sent.some(({ primary }) => primary === true)) return after;
  const main = mainAddress(after);
  const known = [before.userName, ...valuesOf(before.emails).map(({ value }) => value)];
  if (main !== mainAddress(before) && known.includes(main))
    throw new ScimRefused(
      'mutability',
      'The primary email address cannot be removed unless another one is made primary',
    );
  return after;
}

/** Removes a full name that was not sent again if a part of the name has changed: it would be the former name. */
function withoutStaleName(after: Resource, before: Resource, operations: readonly PatchOperation[]): Resource {
  const { formatted, ...parts } = (after.name ?? {}) as Resource;
  const { formatted: _, ...former } = (before.name ?? {}) as Resource;
  const isSent = operations.some(({ target: { attribute, sub }, value }) => {
    if (attribute?.name !== 'name') return false;
    return sub
      ? sub.name === 'formatted'
      : isObject(value) && Object.keys(value).some((key) => /^formatted$/i.test(key));
  });
  if (formatted === undefined || isSent || isDeepStrictEqual(parts, former)) return after;
  return { ...after, name: parts };
}

const mainOf = (emails: Resource[]) => emails.find(({ primary }) => primary === true) ?? emails[0];
function mainAddress({ userName, emails }: Resource): unknown {
  const main = mainOf(valuesOf(emails));
  return main ? main.value : userName;
}

/** A User as it is answered. @param baseUrl of `/scim/v2` */
export function presentUser(row: UserRow, groups: { id: string; name: string }[] | null, baseUrl: string): Resource {
  const writable = writableOf(row);
  const extensions = userKind.extensions.map(({ id }) => id).filter((id) => writable[id]);
  return {
    schemas: [userKind.schema.id, ...extensions],
    id: row.id,
    ...writable,
    emails: writable.emails ?? [{ value: row.email, primary: true }],
    ...(groups &&
      groups.length > 0 && {
        groups: groups.map(({ id, name }) => ({ value: id, $ref: `${baseUrl}/Groups/${id}`, display: name })),
      }),
    meta: {
      resourceType: 'User',
      created: row.createdAt.toISOString(),
      lastModified: row.updatedAt.toISOString(),
      location: `${baseUrl}/Users/${row.id}`,
      version: versionOf(row),
    },
  };
}

/** Returns the version, computed from what clients write: a weak ETag, since responses show different parts. */
export const versionOf = (row: UserRow): string =>
  `W/"${hash('sha256', JSON.stringify([row.id, writableOf(row)]), 'base64url').slice(0, 22)}"`;
