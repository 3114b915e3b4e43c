import { hash } from 'node:crypto';
import { hasMailForm, isMailAddress } from '../logins/address.js';
import { userKind } from './kinds.js';
import { ScimRefused } from './refusal.js';
import type { Resource } from './schema.js';
import type { UserRow } from './user-rows.js';
import { assertIndexable } from './values.js';

/** What a User says, sorted to where it is kept. */
export interface WantedUser {
  email: string;
  firstName: string | null;
  lastName: string | null;
  userName: string;
  externalId: string | null;
  /** Undefined: nothing was said. */
  isActive: boolean | undefined;
  attributes: Resource;
}

const longestName = 200;

/**
 * @param before the resource that it takes the place of: addresses in it are kept as they are
 * @throws ScimRefused invalidValue
 */
export function wantedOf(resource: Resource, before: Resource = {}): WantedUser {
  const { userName, externalId: itsId, active, name, emails, ...others } = resource;
  const externalId = (itsId as string | undefined) ?? null;
  if (typeof userName !== 'string' || userName.trim() === '') throw invalid('userName is required');
  const { givenName, familyName, ...otherNames } = (name ?? {}) as Record<string, string>;
  assertIndexable('userName', userName, before.userName);
  assertIndexable('externalId', externalId, before.externalId);
  const { email, kept } = addresses(userName, valuesOf(emails), before);
  return {
    email,
    firstName: nameOf('givenName', givenName),
    lastName: nameOf('familyName', familyName),
    userName,
    externalId,
    isActive: active as boolean | undefined,
    attributes: {
      ...others,
      ...(Object.keys(otherNames).length > 0 && { name: otherNames }),
      ...(kept.length > 0 && { emails: kept }),
    },
  };
}

function nameOf(field: string, value: string | undefined): string | null {
  if (value && value.length > longestName) throw invalid(`name.${field} is longer than ${longestName} characters`);
  return value ?? null;
}

const valuesOf = (emails: unknown) => (emails ?? []) as Resource[];

/** The address to sign in with: the main one, else the first one, else the name. It is not kept twice. */
function addresses(userName: string, emails: Resource[], before: Resource): { email: string; kept: Resource[] } {
  // Without this, who has one from before addresses were bounded could not even be deactivated: clients send the whole User.
  const known = [before.userName, ...valuesOf(before.emails).map(({ value }) => value)];
  const isAddress = (text: string) => isMailAddress(text) || (known.includes(text) && hasMailForm(text));
  const main = emails.find(({ primary }) => primary === true) ?? emails[0];
  if (!main) {
    if (isAddress(userName)) return { email: userName, kept: [] };
    throw invalid('Where userName is no mail address, emails has to have one');
  }
  for (const { value } of emails) {
    if (typeof value !== 'string' || !isAddress(value)) throw invalid('A value of emails is no mail address');
  }
  const { value, ...rest } = main;
  return { email: value as string, kept: emails.map((one) => (one === main ? rest : one)) };
}

const invalid = (detail: string) => new ScimRefused('invalidValue', detail);

/** The part of a User that clients write, as PATCH changes it and PUT replaces it. */
export function writableOf(row: UserRow): Resource {
  const { name, emails, ...others } = row.attributes ?? {};
  const names = {
    ...(name as Resource | undefined),
    ...(row.firstName !== null && { givenName: row.firstName }),
    ...(row.lastName !== null && { familyName: row.lastName }),
  };
  const userName = row.userName ?? row.email;
  // Where the name is the address and nothing else was said, a new name is a new address.
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

/** Of what clients write; a weak ETag, since answers differ in what of it they show. */
export const versionOf = (row: UserRow): string =>
  `W/"${hash('sha256', JSON.stringify([row.id, writableOf(row)]), 'base64url').slice(0, 22)}"`;
