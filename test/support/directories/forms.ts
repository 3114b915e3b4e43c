import type { Random } from '../random.js';
import type { WantedUser } from './rules.js';

/** The many forms in which directories say one thing: RFC 7644, Entra ID, Okta. */

const core = 'urn:ietf:params:scim:schemas:core:2.0:User';
const enterprise = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User';

type Text = 'userName' | 'externalId' | 'title' | 'department' | 'givenName' | 'familyName';
/** A change that a directory wants; null removes. */
export type UserChange = [of: Text, to: string | null] | [of: 'email', to: string] | [of: 'active', to: boolean];

const paths: Record<Text, string> = {
  userName: 'userName',
  externalId: 'externalId',
  title: 'title',
  department: `${enterprise}:department`,
  givenName: 'name.givenName',
  familyName: 'name.familyName',
};

const nested = (path: string, value: unknown): object => {
  const [name, sub] = path.startsWith('name.')
    ? ['name', path.slice(5)]
    : [enterprise, path.slice(enterprise.length + 1)];
  return path.includes('.givenName') || path.includes('.familyName') || path.startsWith(enterprise)
    ? { [name as string]: { [sub as string]: value } }
    : { [path]: value };
};

function textForms(of: Text, value: string | null): object[] {
  const path = paths[of];
  const removing =
    value === null
      ? [
          { op: 'remove', path },
          { op: 'Remove', path: path.toUpperCase() },
        ]
      : [];
  const setting = [
    { op: 'replace', path, value },
    { op: 'Replace', path: path.startsWith('urn:') ? path : `${core}:${path}`, value },
    { op: 'add', path, value },
    { op: 'replace', value: { [path]: value } },
    { op: 'Add', value: nested(path, value) },
    { op: 'replace', path: null, value: nested(path, value) },
  ];
  return value === null ? [...removing, setting[0]!, setting[3]!, setting[5]!] : setting;
}

function addressForms(value: string, sent: WantedUser['emails']): [form: object, after: WantedUser['emails']][] {
  const whole = [{ type: 'work', value, primary: true }];
  return [
    [{ op: 'replace', path: 'emails', value: whole }, 'work'],
    [{ op: 'Replace', value: { emails: whole } }, 'work'],
    [{ op: 'replace', path: 'emails[primary eq true].value', value }, sent === 'work' ? 'work' : 'primary'],
    [{ op: 'replace', path: 'emails[primary eq "True"].value', value }, sent === 'work' ? 'work' : 'primary'],
    ...(sent === 'work' ? [[{ op: 'Add', path: 'emails[type eq "work"].value', value }, sent] as const] : []),
  ].map(([form, after]) => [form as object, after as WantedUser['emails']]);
}

function activeForms(is: boolean): object[] {
  const word = is ? 'True' : 'False';
  return [
    { op: 'replace', path: 'active', value: is },
    { op: 'Replace', path: 'active', value: word },
    { op: 'Add', path: `${core}:active`, value: word.toLowerCase() },
    { op: 'replace', value: { active: is } },
    { op: 'Replace', value: { Active: word } },
  ];
}

/**
 * Returns the operations of a PATCH for some changes, and what they make of a User.
 * @param sent how the address is stored before
 */
export function patchOf(random: Random, changes: readonly UserChange[], sent: WantedUser['emails']) {
  let emails = sent;
  const operations = changes.map((change): object => {
    if (change[0] === 'active') return random.of(activeForms(change[1]));
    if (change[0] !== 'email') return random.of(textForms(change[0], change[1]));
    const [form, after] = random.of(addressForms(change[1], emails));
    emails = after;
    return form;
  });
  const changed = (before: WantedUser): WantedUser => {
    const after = { ...before };
    for (const change of changes) {
      if (change[0] === 'active') after.active = change[1];
      else if (change[0] === 'email') Object.assign(after, { email: change[1], emails: 'primary' });
      else if (change[0] === 'givenName') after.firstName = change[1];
      else if (change[0] === 'familyName') after.lastName = change[1];
      else Object.assign(after, { [change[0]]: change[1] });
      if (change[0] === 'userName' && after.emails === 'none') after.email = after.userName;
    }
    return { ...after, emails: changes.some(([of]) => of === 'email') ? emails : after.emails };
  };
  return { operations, changed };
}

/** Returns a whole User as some directories send it, with what they have read and may not write. */
export function bodyOf(random: Random, wanted: WantedUser): object {
  const { userName, email, emails, firstName, lastName, externalId, title, department, active } = wanted;
  const hasName = firstName !== null || lastName !== null;
  const type = emails === 'work' && { type: 'work' };
  return {
    schemas: [core, enterprise],
    ...(random.below(3) === 0 && { id: 'another', groups: [{ value: 'another' }], meta: { resourceType: 'User' } }),
    [random.of(['userName', 'UserName'])]: userName,
    ...(externalId !== null && { externalId }),
    ...(hasName && { name: { givenName: firstName, familyName: lastName } }),
    ...(emails !== 'none' && { emails: [{ value: email, ...type, primary: random.of([true, 'true']) }] }),
    ...(title !== null && { title }),
    ...(department !== null && { [enterprise]: { department } }),
    ...(active !== undefined && { active: random.of([active, active ? 'True' : 'False']) }),
  };
}

/** A change of a group's name or members. */
export type GroupChange =
  | [of: 'name', to: string]
  | [of: 'add' | 'remove' | 'replace', ids: string[]]
  | [of: 'clear', ids: []];

const valuesOf = (ids: readonly string[]) => ids.map((value) => ({ value }));

/** Returns the operations for a change of a group. */
export function groupPatchOf(random: Random, [of, to]: GroupChange): object[] {
  if (of === 'name')
    return [
      random.of<object>([
        { op: 'replace', path: 'displayName', value: to },
        { op: 'Replace', value: { id: 'another', displayName: to } },
        { op: 'add', value: { displayname: to } },
      ]),
    ];
  const ids = to as string[];
  if (of === 'clear')
    return [
      random.of<object>([
        { op: 'remove', path: 'members' },
        { op: 'replace', path: 'members', value: [] },
      ]),
    ];
  if (of === 'replace')
    return [
      random.of<object>([
        { op: 'replace', path: 'members', value: valuesOf(ids) },
        { op: 'Replace', value: { members: valuesOf(ids) } },
      ]),
    ];
  if (of === 'add')
    return random.of<object[]>([
      [{ op: 'add', path: 'members', value: valuesOf(ids) }],
      ids.map((value) => ({ op: 'Add', path: 'members', value: { value, type: 'User' } })),
      [{ op: 'add', value: { members: ids.map((value) => ({ value: value.toUpperCase(), $ref: 'another' })) } }],
    ]);
  return random.of<object[]>([
    ids.map((id) => ({ op: 'remove', path: `members[value eq "${id}"]` })),
    [{ op: 'Remove', path: 'members', value: valuesOf(ids) }],
    [{ op: 'remove', path: `members[${ids.map((id) => `value eq "${id}"`).join(' or ')}]` }],
  ]);
}
