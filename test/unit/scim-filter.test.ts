import { lookUpsOf } from '../../src/domain/scim/filters/look-ups.js';
import { matchesFilter } from '../../src/domain/scim/filters/match.js';
import { parseFilter } from '../../src/domain/scim/filters/syntax.js';
import { userKind } from '../../src/domain/scim/kinds.js';
import { patched, readPatch } from '../../src/domain/scim/patch.js';
import { assertProjection, projected } from '../../src/domain/scim/projection.js';
import { type Attribute, attributeOf, type Resource } from '../../src/domain/scim/schema.js';
import { readResource } from '../../src/domain/scim/values.js';

const kindOf = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    return (error as { kind: string }).kind;
  }
  return 'fine';
};

test('filters follow the operators’ precedence: not, and, or', () => {
  const eq = (path: string, value: unknown) => ({ op: 'eq', path, value });
  expect(parseFilter('a eq 1 or b eq true and not (c pr)')).toEqual({
    op: 'or',
    filters: [eq('a', 1), { op: 'and', filters: [eq('b', true), { op: 'not', filter: { op: 'pr', path: 'c' } }] }],
  });
  expect(parseFilter('(a EQ "x" OR b Eq null) AND emails[type eq "work" and value co "@x"]')).toEqual({
    op: 'and',
    filters: [
      { op: 'or', filters: [eq('a', 'x'), eq('b', null)] },
      {
        op: '[]',
        path: 'emails',
        filter: { op: 'and', filters: [eq('type', 'work'), { op: 'co', path: 'value', value: '@x' }] },
      },
    ],
  });
});

test('a sub-attribute after the brackets belongs to the same value, as Entra ID sends it', () => {
  expect(parseFilter('emails[type eq "work"].value eq "x"')).toEqual(
    parseFilter('emails[(type eq "work") and value eq "x"]'),
  );
  expect(kindOf(() => parseFilter('.value eq "x"'))).toBe('invalidFilter');
  expect(kindOf(() => parseFilter('emails .value eq "x"'))).toBe('invalidFilter');
});

test('texts in filters are as in JSON', () => {
  const value = (text: string) => (parseFilter(`a eq ${text}`) as { value: unknown }).value;
  expect(value('"a\\"b\\\\"')).toBe('a"b\\');
  expect(value('"\\u00e9\\n"')).toBe('é\n');
});

test.each([
  '',
  'a',
  'a eq',
  'a eq b',
  'a xx "b"',
  'a eq "b',
  '(a pr',
  'a pr)',
  'a eq "x" and',
  'a[b eq "c"',
  'a eq "\\q"',
  '"a" eq "b"',
  `${'('.repeat(30)}a pr${')'.repeat(30)}`,
  Array.from({ length: 101 }, () => 'a pr').join(' or '),
  `a eq "${'x'.repeat(5000)}"`,
  `userName eq "${'\n'.repeat(3000)}`,
])('%j is no filter', (text) => {
  expect(kindOf(() => parseFilter(text))).toBe('invalidFilter');
});

describe('what an index can find', () => {
  const byEquality = (path: string, op: string, value: string) => (op === 'eq' ? [{ by: path, value }] : null);
  test.each([
    ['a eq "1"', 'a=1'],
    ['a co "1"', null],
    ['a eq 1', null],
    ['not (a eq "1")', null],
    ['a eq "1" or b eq "2"', 'a=1 b=2'],
    ['a eq "1" or b pr', null],
    ['a pr and (b eq "2" or c eq "3")', 'b=2 c=3'],
    ['(a eq "1" or b eq "2") and c eq "3"', 'c=3'],
    ['a eq "1" and b eq "longer"', 'b=longer'],
    ['a[b eq "1" and c co "x"] and d pr', 'a.b=1'],
    [Array.from({ length: 21 }, () => 'a eq "1"').join(' or '), null],
  ])('%s is looked up by %s', (filter, expected) => {
    const found = lookUpsOf(parseFilter(filter), byEquality);
    expect(found?.map(({ by, value }) => `${by}=${value}`).join(' ') ?? null).toBe(expected);
  });
});

test('no filter and no path takes longer to read or refuse than in proportion to its length', () => {
  const quickest = (work: () => unknown): number => {
    const one = () => {
      const begun = performance.now();
      kindOf(work);
      return performance.now() - begun;
    };
    return Math.min(...Array.from({ length: 15 }, one));
  };
  const filled = (part: string, end = '') => part.repeat(4000 / part.length).slice(0, 4000 - end.length) + end;
  const plain = quickest(() => parseFilter(`a eq "${filled('x').slice(0, 3900)}"`));
  const terms = quickest(() =>
    parseFilter(Array.from({ length: 100 }, (_, i) => `userName eq "name-${i}"`).join(' or ')),
  );
  const hostile = [
    ...[
      filled('\\"', 'a'),
      `a eq "${filled('\\').slice(0, 3900)}`,
      `a eq "${'\n'.repeat(3000)}`,
      filled('not ('),
      filled('('),
    ],
    ...[
      filled('a['),
      filled(' '),
      filled('a'),
      filled('a eq 1 and '),
      filled('"'),
      filled('urn:'),
      filled('a.'),
      filled('-1e'),
    ],
  ];
  const paths = [
    filled('emails['),
    filled(']'),
    `emails[${filled('].a').slice(0, 3900)}!`,
    filled('a]'),
    `emails[${filled('value pr or ')}`,
  ];
  const slow = [
    ...hostile.map((filter) => [filter, quickest(() => parseFilter(filter))] as const),
    ...paths.map(
      (path) => [path, quickest(() => readPatch(userKind, { Operations: [{ op: 'remove', path }] }))] as const,
    ),
  ].filter(([, ms]) => ms > 30 * (plain + terms));
  expect(slow.map(([text, ms]) => `${text.slice(0, 20)}…: ${ms} ms`)).toEqual([]);
});

test('a value is matched by each operator', () => {
  const emails = attributeOf(userKind.schema, 'emails', userKind) as Attribute;
  const holds = (filter: string) => matchesFilter(parseFilter(filter), emails, { value: 'Ana@acme.com', type: 'work' });
  const right = ['value eq "ana@ACME.com"', 'value co "@acme"', 'value sw "ana"', 'value ew ".com"', 'type gt "a"'];
  right.push('value pr', 'type ne "home"', 'type ge "work"', 'type le "work"', 'primary eq null', 'not (primary pr)');
  expect(right.filter((one) => !holds(one))).toEqual([]);
  expect(['value lt "a"', 'type eq "home"', 'primary pr', 'value co true'].filter(holds)).toEqual([]);
  expect(kindOf(() => holds('nothing eq "x"'))).toBe('invalidFilter');
});

const ana: Resource = {
  userName: 'ana@acme.com',
  name: { givenName: 'Ana', familyName: 'Kern' },
  emails: [
    { value: 'ana@acme.com', type: 'work', primary: true },
    { value: 'ana@home.example', type: 'home' },
  ],
};
const patch = (...operations: (object | string)[]) =>
  patched(userKind, ana, readPatch(userKind, { schemas: [], Operations: operations }));
const enterprise = userKind.extensions[0]?.id as string;

test('another manager has nothing of the former one, and an empty one is none', () => {
  const path = `${enterprise}:manager`;
  const known = { op: 'add', path, value: { value: 'm1', displayName: 'Mia' } };
  const after = (operation: object) => patch(known, operation)[enterprise];
  expect(after({ op: 'replace', path, value: { value: 'm1' } })).toEqual({ manager: known.value });
  expect(after({ op: 'replace', path: `${path}.displayName`, value: 'Mia K.' })).toEqual({
    manager: { value: 'm1', displayName: 'Mia K.' },
  });
  for (const other of [
    { path, value: { value: 'm2' } },
    { path, value: 'm2' },
    { path: `${path}.value`, value: 'm2' },
  ])
    expect(after({ op: 'replace', ...other })).toEqual({ manager: { value: 'm2' } });
  for (const nobody of [
    { op: 'replace', path, value: '' }, // as Entra ID sends it
    { op: 'replace', path, value: { value: '' } },
    { op: 'replace', path: `${path}.value`, value: '' },
    { op: 'remove', path: `${path}.value` },
    { op: 'remove', path },
  ])
    expect(after(nobody)).toBeUndefined();
});

test('PATCH adds, replaces and removes at every kind of path', () => {
  expect(patch({ op: 'Replace', path: 'NAME.givenname', value: 'Eva' }).name).toEqual({
    givenName: 'Eva',
    familyName: 'Kern',
  });
  expect(patch({ op: 'replace', value: { 'name.givenName': 'Eva', active: 'False' } })).toMatchObject({
    active: false,
  });
  expect(patch({ op: 'remove', path: 'name.givenName' }).name).toEqual({ familyName: 'Kern' });
  expect(patch({ op: 'add', path: `${enterprise}:manager`, value: 'm1' })[enterprise]).toEqual({
    manager: { value: 'm1' },
  });
  expect(patch({ op: 'add', value: { [enterprise]: { department: 'R&D' } } })[enterprise]).toEqual({
    department: 'R&D',
  });
  expect(patch({ op: 'replace', path: 'emails[type eq "work"].value', value: 'a@b.cd' }).emails).toMatchObject([
    { value: 'a@b.cd', type: 'work' },
    { type: 'home' },
  ]);
  expect(patch({ op: 'add', path: 'emails[type eq "other"].value', value: 'a@b.cd' }).emails).toHaveLength(3);
  // As Entra ID sends new values.
  expect(patch({ op: 'replace', path: 'phoneNumbers[type eq "mobile"].value', value: '+49 1' }).phoneNumbers).toEqual([
    { type: 'mobile', value: '+49 1' },
  ]);
  expect(patch({ op: 'remove', path: 'emails[type eq "home"]' }).emails).toHaveLength(1);
  const moved = patch({ op: 'add', path: 'emails', value: [{ value: 'new@acme.com', primary: true }] })
    .emails as Resource[];
  expect(moved.map(({ primary }) => primary)).toEqual([false, undefined, true]);
  expect(ana.emails).toHaveLength(2);
});

test.each([
  ['noTarget', { op: 'replace', path: 'emails[type co "other"].value', value: 'a@b.cd' }],
  ['noTarget', { op: 'replace', path: 'phoneNumbers.value', value: '1' }],
  ['noTarget', { op: 'remove' }],
  ['invalidPath', { op: 'add', path: 'nothing', value: 'x' }],
  ['invalidPath', { op: 'add', path: '__proto__.polluted', value: 'x' }],
  ['invalidPath', { op: 'add', path: 'userName[value eq "x"]', value: 'x' }],
  ['invalidFilter', { op: 'remove', path: 'emails[type xx "home"]' }],
  ['mutability', { op: 'replace', path: 'id', value: 'x' }],
  ['mutability', { op: 'remove', path: 'userName' }],
  ['mutability', { op: 'remove', path: 'userName', value: 'ana@acme.com' }],
  ['mutability', { op: 'remove', path: 'emails' }],
  ['mutability', { op: 'remove', path: 'emails', value: [] }],
  ['invalidSyntax', { op: 'move', path: 'userName', value: 'x' }],
  ['invalidValue', { op: 'add', value: 'x' }],
  ['invalidValue', { op: 'add', path: 'title', value: { a: 1 } }],
  ['invalidValue', { op: 'add', path: 'title', value: '\0' }],
  ['invalidValue', { op: 'add', path: 'active', value: 'perhaps' }],
  ['invalidSyntax', 'add'],
  ['invalidPath', { op: 'remove', path: 7 }],
  ['invalidPath', { op: 'remove', path: 'a'.repeat(4001) }],
  ['invalidPath', { op: 'remove', path: 'urn:nothing:of:ours:title' }],
  ['invalidPath', { op: 'remove', path: 'name.givenName.first' }],
  ['invalidPath', { op: 'remove', path: userKind.schema.id }],
  ['invalidPath', { op: 'remove', path: 'emails.value[type eq "work"]' }],
  ['invalidPath', { op: 'remove', path: 'emails[type eq "work"].nothing' }],
  ['invalidFilter', { op: 'remove', path: 'emails[nothing eq "work"]' }],
  ['invalidFilter', { op: 'remove', path: 'emails[emails[type eq "work"]]' }],
  ['noTarget', { op: 'add', path: 'emails[type co "other"].value', value: 'a@b.cd' }],
  ['noTarget', { op: 'add', path: 'phoneNumbers[nothing eq "x"].value', value: '1' }],
  ['noTarget', { op: 'add', path: 'phoneNumbers.value', value: '1' }],
  ['invalidValue', { op: 'add', path: enterprise, value: 'R&D' }],
  ['invalidValue', { op: 'add', path: 'name', value: 'Ana' }],
  ['invalidValue', { op: 'add', path: 'title', value: 'x'.repeat(1001) }],
  ['invalidValue', { op: 'add', path: 'emails', value: Array.from({ length: 1001 }, (_, i) => ({ value: `${i}` })) }],
  ['invalidValue', { op: 'add', path: 'emails', value: ['a', 'b'].map((value) => ({ value, primary: true })) }],
])('PATCH is refused as %s: %#', (kind, operation) => {
  expect(kindOf(() => patch(operation))).toBe(kind);
  expect(({} as { polluted?: string }).polluted).toBeUndefined();
});

test('PATCH has a list of operations, which is neither empty nor endless', () => {
  const read = (body: unknown) => kindOf(() => readPatch(userKind, body));
  const removal = { op: 'remove', path: 'title' };
  expect([null, {}, { Operations: removal }, { Operations: [] }].map(read)).toEqual(Array(4).fill('invalidSyntax'));
  expect(read({ operations: [removal] })).toBe('fine'); // some directories send this
  expect(read({ Operations: Array(1001).fill(removal) })).toBe('tooMany');
});

test('PATCH limits its searches: the same filter over a thousand values, hundreds of times, would delay everybody', () => {
  const phones = Array.from({ length: 1000 }, (_, i) => ({ value: `p${i}`, display: 'old' }));
  const many = { op: 'add', path: 'phoneNumbers', value: phones };
  const terms = Array.from({ length: 44 }, (_, i) => ` or value co "z${i}"`).join('');
  const renamed = { op: 'replace', path: `phoneNumbers[value eq "p999"${terms}].display`, value: 'new' };
  const changed = patch(many, ...Array(20).fill(renamed)).phoneNumbers as Resource[];
  expect(changed.filter(({ display }) => display === 'new')).toEqual([{ value: 'p999', display: 'new' }]);
  expect(kindOf(() => patch(many, ...Array(30).fill(renamed)))).toBe('tooMany');
  expect(
    (patch(many, many, { ...many, value: [{ display: 'old', value: 'p1' }] }).phoneNumbers as Resource[]).length,
  ).toBe(1000);
});

test('PATCH leaves what is not addressed unchanged', () => {
  const [work, home] = ana.emails as Resource[];
  expect(patch({ op: 'add', path: null, value: { id: 'x', schemas: [], meta: {}, groups: [{}], title: 'T' } })).toEqual(
    {
      ...ana,
      title: 'T',
    },
  );
  expect(patch({ op: 'add', path: 'name', value: { givenName: 'Eva' } }).name).toMatchObject({ familyName: 'Kern' });
  expect(patch({ op: 'add', path: 'emails', value: work }).emails).toEqual([work, home]);
  expect(patch({ op: 'add', path: 'emails[type eq "work"]', value: { type: 'office' } }).emails).toEqual([
    { ...work, type: 'office' },
    home,
  ]);
  expect(patch({ op: 'remove', path: 'emails[type eq "other"]' }).emails).toEqual([work, home]);
  expect(patch({ op: 'remove', path: 'emails[type eq "other"].type' }).emails).toEqual([work, home]);
  expect(patch({ op: 'remove', path: 'emails[type eq "home"].type' }).emails).toEqual([work, { value: home?.value }]);
  const phones = { op: 'add', path: 'phoneNumbers', value: [{ value: '1' }, { value: '2' }] };
  expect(patch(phones, { ...phones, op: 'remove', value: [{ value: '2' }] }).phoneNumbers).toEqual([{ value: '1' }]);
  expect(patch({ op: 'remove', path: 'emails', value: [{ value: home?.value }] }).emails).toEqual([work]);
});

test('PATCH accepts Microsoft Entra ID’s default mappings', () => {
  const add = (path: string, value: string) => ({ op: 'Add', path, value });
  const work = 'addresses[type eq "work"]';
  const city = add(`${work}.locality`, 'Berlin');
  const moved = patch(city, add(`${work}.country`, 'DE'), { op: 'Replace', path: `${work}.locality`, value: 'Köln' });
  expect(moved.addresses).toEqual([{ type: 'work', locality: 'Köln', country: 'DE' }]);
  expect(patch(city, { op: 'Remove', path: `${work}.locality` }).addresses).toEqual([{ type: 'work' }]);
  const home = { type: 'home', locality: 'Bonn' };
  const both = [city, { op: 'Add', path: 'addresses', value: [home] }];
  expect(patch(...both, { op: 'Remove', path: 'addresses', value: [home] }).addresses).toEqual([
    { type: 'work', locality: 'Berlin' },
  ]);
  const main = 'roles[primary eq "True"].value';
  expect(patch(add(main, 'Author'), add(main, 'Editor')).roles).toEqual([{ primary: true, value: 'Editor' }]);
});

test('PATCH replaces a value that a filter finds as a whole (RFC 7644 §3.5.2.3), and adds to it', () => {
  const old = { type: 'work', formatted: 'Old St 1, Oldtown', streetAddress: 'Old St 1', region: 'OT', primary: true };
  const added = { op: 'add', path: 'addresses', value: [old] };
  const path = 'addresses[type eq "work"]';
  const value = { streetAddress: 'New St 2', locality: 'Newtown' };
  expect(patch(added, { op: 'replace', path, value }).addresses).toEqual([{ type: 'work', primary: true, ...value }]);
  expect(patch(added, { op: 'add', path, value }).addresses).toEqual([{ ...old, ...value }]);
  const [work, home] = ana.emails as Resource[];
  const named = { op: 'replace', path: 'emails[type eq "home"]', value: { display: 'At home' } };
  expect(patch(named).emails).toEqual([work, { ...home, display: 'At home' }]);
});

test('PATCH removes what has nothing left in it', () => {
  const phones = { op: 'add', path: 'phoneNumbers', value: [{ value: '1' }] };
  expect(patch(phones, { op: 'remove', path: 'phoneNumbers' })).toEqual(ana);
  const two = {
    ...phones,
    value: [
      { value: '1', type: 'work', primary: true },
      { value: '2', type: 'home' },
    ],
  };
  const path = 'phoneNumbers[type eq "work"].value';
  for (const emptied of [
    { op: 'remove', path },
    { op: 'replace', path, value: '' },
  ])
    expect(patch(two, emptied).phoneNumbers).toEqual([{ value: '2', type: 'home' }]);
  expect(patch({ op: 'replace', path, value: '' })).toEqual(ana);
  expect(patch(two, { op: 'replace', path, value: '3' }).phoneNumbers).toHaveLength(2);
  const names = ['givenName', 'familyName'].map((name) => ({ op: 'remove', path: `name.${name}` }));
  expect(patch(...names)).not.toHaveProperty('name');
  const extended = { op: 'replace', path: enterprise, value: { department: 'R&D', unknown: 1 } };
  expect(patch(extended)[enterprise]).toEqual({ department: 'R&D' });
  expect(patch(extended, { op: 'remove', path: enterprise })).toEqual(ana);
  expect(patch(extended, { op: 'remove', path: `${enterprise}:department` })).toEqual(ana);
});

test('a value that PATCH adds by a filter satisfies the filter', () => {
  const path = 'emails[type eq "other" and primary eq true].value';
  const emails = patch({ op: 'add', path, value: 'a@b.cd' }).emails as Resource[];
  expect(emails.map(({ type, primary }) => [type, primary])).toEqual([
    ['work', false],
    ['home', undefined],
    ['other', true],
  ]);
});

test('a resource is an object, and so are its extensions', () => {
  const read = (body: unknown) => kindOf(() => readResource(userKind, body));
  expect([null, 'ana', []].map(read)).toEqual(Array(3).fill('invalidSyntax'));
  expect(read({ [enterprise]: 'R&D' })).toBe('invalidValue');
  expect(readResource(userKind, { userName: 'ana', [enterprise]: { division: null } })).toEqual({ userName: 'ana' });
  expect(readResource(userKind, { userName: 'ana', [enterprise]: null })).toEqual({ userName: 'ana' });
  expect(readResource(userKind, { emails: { value: 'a@b.cd' } })).toEqual({ emails: [{ value: 'a@b.cd' }] });
  expect(() => readResource(userKind, { name: { givenName: 7 } })).toThrow('name: givenName must be a string');
});

test('names are read in any case, and read-only ones are left out', () => {
  const read = readResource(userKind, {
    USERNAME: 'ana',
    id: 'x',
    groups: [{ value: 'g' }],
    unknown: 1,
    title: null,
    ACTIVE: 'true',
  });
  expect(read).toEqual({ userName: 'ana', active: true });
});

test('an answer has the requested attributes', () => {
  const whole = { schemas: ['s'], id: '1', ...ana, [enterprise]: { department: 'R&D', division: 'X' } };
  const only = (...attributes: string[]) => projected(userKind, whole, { attributes, excludedAttributes: [] });
  const without = (...excludedAttributes: string[]) =>
    projected(userKind, whole, { attributes: [], excludedAttributes });
  expect(only('name.givenName', 'emails.type', `${enterprise}:division`)).toEqual({
    schemas: ['s'],
    id: '1',
    name: { givenName: 'Ana' },
    emails: [{ type: 'work' }, { type: 'home' }],
    [enterprise]: { division: 'X' },
  });
  const always = { schemas: ['s'], id: '1' };
  expect(only('nothing', 'title', 'urn:nothing:title')).toEqual(always);
  expect(only(enterprise)).toEqual({ ...always, [enterprise]: { department: 'R&D', division: 'X' } });
  expect(only(`${enterprise}:manager`)).toEqual(always);
  expect(only('name.givenName', 'name.familyName', 'emails.type', 'emails.primary')).toEqual({
    ...always,
    name: ana.name,
    emails: [{ type: 'work', primary: true }, { type: 'home' }],
  });
  expect(without(`${enterprise}:department`, `${enterprise}:division`)).toEqual({ ...always, ...ana });
  expect(without('emails.value', 'title', 'title.nothing', 'schemas').emails).toEqual([
    { type: 'work', primary: true },
    { type: 'home' },
  ]);
  const plain: Resource = { ...always, ...ana };
  const neither = { attributes: [], excludedAttributes: [] };
  expect(projected(userKind, plain, { ...neither, attributes: [enterprise] })).toEqual(always);
  expect(projected(userKind, plain, { ...neither, excludedAttributes: [`${enterprise}:manager`] })).toEqual(plain);
  expect(kindOf(() => assertProjection({ attributes: ['id'], excludedAttributes: ['name'] }))).toBe('invalidValue');
  expect(without('emails', 'id', enterprise, 'name.familyName')).toEqual({
    schemas: ['s'],
    id: '1',
    userName: 'ana@acme.com',
    name: { givenName: 'Ana' },
  });
});
