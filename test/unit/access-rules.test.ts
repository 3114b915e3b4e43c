import { randomUUID } from 'node:crypto';
import { createTakeoverGuard } from '../../src/domain/access/assignments/takeover.js';
import type { Check, Decision, Reason } from '../../src/domain/access/decisions/evaluate.js';
import { createEvaluation } from '../../src/domain/access/decisions/evaluate.js';
import { createExplanations } from '../../src/domain/access/decisions/explain.js';
import { reasonsInWords } from '../../src/domain/access/decisions/explain-in-words.js';
import type { Found, FoundAssignment } from '../../src/domain/access/decisions/explained.js';
import { createSearch } from '../../src/domain/access/decisions/search.js';
import { createRights } from '../../src/domain/access/rights.js';
import { lackingAtRoot } from '../../src/domain/access/roles/granting.js';
import { hasBoundAhead, momentsOf } from '../../src/domain/access/windows/moments.js';
import type { AdminCaller, Caller } from '../../src/domain/caller.js';
import { capabilities } from '../../src/domain/capabilities/administrator-roles.js';
import { uuidArray } from '../../src/platform/database/uuid-array.js';
import { answering } from '../support/answering.js';

/** Decisions after PostgreSQL has answered, whatever the answer; `integration/access-model` tests the answers. */
const now = new Date('2026-03-01T12:00:00Z');
const [minute, hour, day] = [60_000, 3_600_000, 86_400_000];
const later = (ms: number) => new Date(now.getTime() + ms);
const check: Check = { identityId: 'ana', permission: 'door.open', nodeId: 'room' };
const scope = { accountId: 'acc', applicationId: 'app', environmentId: 'env' };

const found = (changes: Partial<FoundAssignment> = {}): FoundAssignment => ({
  assignmentId: 'as',
  role: { id: 'r', name: 'Porter' },
  node: { id: 'house', name: 'House' },
  depth: 2,
  effectiveFrom: null,
  effectiveTo: null,
  removedAt: null,
  isRoleActive: true,
  holdsPermission: true,
  isOnPath: true,
  path: [{ id: 'house', name: 'House' }],
  ...changes,
});
const explain = (changes: Partial<Found> = {}) => {
  const known = { membership: { isActive: true }, node: { id: 'room', name: 'Room', inactive: [] } };
  const { db } = answering([{ ...known, permissionExists: true, assignments: [], ...changes }]);
  return createExplanations({ db, now: () => now }).explain('env', check);
};

describe('explaining', () => {
  test.each([
    ['removed this moment', { removedAt: now }, 'removed'],
    ['removed by a process whose clock is ahead', { removedAt: later(hour) }, 'removed'],
    ['of a role without the permission', { holdsPermission: false }, 'role_lacks_permission'],
    ['held at a node that is not above', { isOnPath: false }, 'assigned_elsewhere'],
    ['that begins now', { effectiveFrom: now }, 'granted'],
    ['that begins a moment later', { effectiveFrom: later(1) }, 'outside_window'],
    ['that ends now', { effectiveTo: now }, 'outside_window'],
    ['that ends a moment later', { effectiveTo: later(1) }, 'granted'],
    ['of an inactive role', { isRoleActive: false }, 'role_inactive'],
    ['of an inactive role that has ended', { isRoleActive: false, effectiveTo: now }, 'outside_window'],
  ])('an assignment %s is explained by one reason', async (_name, changes, code) => {
    const { allowed, decision, reasons } = await explain({ assignments: [found(changes)] });
    expect(reasons.map((one) => one.code)).toEqual([code]);
    expect([allowed, decision !== null]).toEqual([code === 'granted', code === 'granted']);
    expect(reasons[0]).toMatchObject({ assignmentId: 'as', role: { name: 'Porter' }, node: { name: 'House' } });
  });

  test('at another moment an assignment that was removed right after it applied', async () => {
    const known = { membership: { isActive: true }, node: { id: 'room', name: 'Room', inactive: [] } };
    const codesOf = async (removedAt: Date) => {
      const row = { ...known, permissionExists: true, assignments: [found({ removedAt })] };
      const { reasons } = await createExplanations({ db: answering([row]).db, now: () => now }).explain(
        'env',
        check,
        now,
      );
      return reasons.map(({ code }) => code);
    };
    expect(await codesOf(later(1))).toEqual(['granted']);
    expect(await codesOf(now)).toEqual(['removed']);
  });

  test('an assignment that grants it decides, the nearest of several, and nothing else is named', async () => {
    const assignments = [
      found({ assignmentId: 'over', effectiveTo: now }),
      found({ assignmentId: 'far', depth: 1 }),
      found({ assignmentId: 'near', depth: 3, path: [{ id: 'room', name: 'Room' }] }),
      found({ assignmentId: 'between', depth: 2 }),
    ];
    const { decision, reasons } = await explain({ assignments });
    expect(decision).toMatchObject({ assignmentId: 'near', path: [{ name: 'Room' }] });
    expect(reasons.map(({ assignmentId }) => assignmentId)).toEqual(['near']);
  });

  test.each<[Reason, Partial<Found>]>([
    ['identity_not_found', { membership: null, node: null, permissionExists: false }],
    ['node_not_found', { node: null, permissionExists: false }],
    ['permission_not_found', { permissionExists: false, membership: { isActive: false } }],
  ])('%s is the only reason given', async (reason, changes) => {
    const explained = await explain({ ...changes, assignments: [found()] });
    expect(explained).toMatchObject({ allowed: false, reason, decision: null, reasons: [{ code: reason }] });
    expect(explained.reasons).toHaveLength(1);
  });

  test('an inactive person or node does not hide what else prevents the permission, but hides what grants it', async () => {
    const node = { id: 'room', name: 'Room', inactive: [{ id: 'house', name: 'House' }] };
    const assignments = [found(), found({ effectiveTo: now })];
    const person = await explain({ membership: { isActive: false }, node, assignments });
    expect(person).toMatchObject({ allowed: false, reason: 'identity_inactive', decision: null });
    expect(person.reasons.map(({ code }) => code)).toEqual(['identity_inactive', 'node_inactive', 'outside_window']);
    const closed = await explain({ node, assignments });
    expect(closed).toMatchObject({ allowed: false, reason: 'node_inactive', decision: null });
    expect(closed.reasons.map(({ code }) => code)).toEqual(['node_inactive', 'outside_window']);
    expect(closed.reasons[0]).toMatchObject({ node: { id: 'house', name: 'House' } });
  });

  test('the reason is the one that came nearest to granting it', async () => {
    const [inactive, over, elsewhere] = [{ isRoleActive: false }, { effectiveTo: now }, { isOnPath: false }].map(found);
    const reasonOf = async (...assignments: unknown[]) =>
      (await explain({ assignments: assignments as FoundAssignment[] })).reason;
    expect(await reasonOf(elsewhere, over, inactive)).toBe('role_inactive');
    expect(await reasonOf(elsewhere, over)).toBe('outside_window');
    expect(await reasonOf(elsewhere)).toBe('no_assignment');
    const { reason, reasons } = await explain();
    expect([reason, reasons]).toEqual([
      'no_assignment',
      [{ code: 'no_assignment', message: 'The identity holds no role at the node or above it' }],
    ]);
  });

  test('times in JSON become dates', async () => {
    const text = later(hour).toISOString() as never;
    const [reason] = (await explain({ assignments: [found({ effectiveFrom: text, effectiveTo: null })] })).reasons;
    expect(reason).toMatchObject({ effectiveFrom: later(hour), effectiveTo: null });
  });

  test.each([
    ['identity_not_found', 'No such identity in the environment'],
    ['identity_inactive', 'The identity is inactive in the environment'],
    ['node_not_found', 'No such node in the environment'],
    ['permission_not_found', 'No such permission in the environment'],
    ['granted', 'door.open: granted'],
  ] as const)('the reason %s is worded "%s"', (code, words) => expect(reasonsInWords.plain(code, check)).toBe(words));

  test.each([
    [0, '1 min'],
    [90_000, '2 min'],
    [119 * minute, '119 min'],
    [120 * minute, '2 h'],
    [71 * hour, '71 h'],
    [72 * hour, '3 days'],
    [10 * day, '10 days'],
  ])('%i ms is worded "%s"', (ms, words) => {
    const what = 'Role "Porter" at node "House"';
    const said = (code: 'outside_window' | 'removed', changes: Partial<FoundAssignment>) =>
      reasonsInWords.of(code, found(changes), now);
    expect(said('outside_window', { effectiveTo: later(-ms) })).toBe(`${what} ended ${words} ago`);
    expect(said('removed', { removedAt: later(-ms) })).toBe(`${what} was removed ${words} ago`);
    if (ms === 0) return;
    expect(said('outside_window', { effectiveFrom: later(ms) })).toBe(`${what} starts in ${words}`);
  });

  test.each([
    ['role_lacks_permission', 'does not hold the permission'],
    ['assigned_elsewhere', 'holds the permission, but that node is not above the one asked for'],
    ['role_inactive', 'holds the permission, but the role is inactive'],
    ['granted', 'allows it'],
  ] as const)('the reason %s of an assignment is worded "%s"', (code, words) =>
    expect(reasonsInWords.of(code, found(), now)).toBe(`Role "Porter" at node "House" ${words}`),
  );

  test('an inactive node is explained in words', () =>
    expect(reasonsInWords.inactive({ id: 'house', name: 'House' })).toBe(
      'Node "House" is inactive, and so is everything below it',
    ));

  test('the statement checks the question, at its moment', async () => {
    const { db, asked } = answering([{ membership: null, assignments: [] }]);
    const { explain: ask } = createExplanations({ db, now: () => now });
    await ask('env', check);
    await ask('env', { ...check, nodeId: null }, later(-hour));
    expect(asked.map(({ values }) => values)).toEqual([
      ['env', 'ana', 'door.open', 'room', now, null],
      ['env', 'ana', 'door.open', null, later(-hour), later(-hour)],
    ]);
  });

  test('a window that began this moment and has ended is an ended one', () => {
    const over = found({ effectiveFrom: now, effectiveTo: now });
    expect(reasonsInWords.of('outside_window', over, now)).toMatch('ended 1 min ago');
  });
});

describe('evaluating', () => {
  const checks = (count: number) => Array.from({ length: count }, () => check);
  const evaluation = (reasons: string | null) => {
    const { db, asked } = answering([{ reasons }]);
    return { asked, ...createEvaluation({ db, now: () => now }) };
  };

  test('only what is granted is allowed', async () => {
    const { evaluate } = evaluation('granted,no_assignment,granted');
    expect(await evaluate('env', checks(3))).toEqual([
      { allowed: true, reason: 'granted' },
      { allowed: false, reason: 'no_assignment' },
      { allowed: true, reason: 'granted' },
    ]);
    expect(await evaluation(null).evaluate('env', [], now)).toEqual([]);
    expect(await createEvaluation({ db: answering().db, now: () => now }).evaluate('env', [], now)).toEqual([]);
  });

  test('an unknown reason allows nothing', async () => {
    const reason = `reason-${randomUUID()}`;
    for (const _ of ['first', 'again']) {
      expect(await evaluation(reason).evaluate('env', checks(1))).toEqual([{ allowed: false, reason }]);
    }
  });

  test('each check is asked by its parts, the root by null', async () => {
    const { evaluate, asked } = evaluation('granted,granted');
    const [ana, ben, room] = [randomUUID(), randomUUID(), randomUUID()];
    await evaluate('env', [
      { identityId: ana, permission: 'door.open', nodeId: room },
      { identityId: ben, permission: 'door.lock', nodeId: null },
    ]);
    expect(asked.map(({ values }) => values)).toEqual([
      ['env', uuidArray([ana, ben]), ['door.open', 'door.lock'], uuidArray([room, null]), now, null],
    ]);
  });

  test('up to ten checks share a statement with other requests; eleven, and those of another moment, have their own', async () => {
    const shared = evaluation(Array.from({ length: 20 }, () => 'granted').join());
    await Promise.all([shared.evaluate('env', checks(10)), shared.evaluate('env', checks(10))]);
    expect(shared.asked).toHaveLength(1);
    const many = evaluation('granted');
    await Promise.all([many.evaluate('env', checks(11)), many.evaluate('env', checks(11))]);
    expect(many.asked).toHaveLength(2);
    const then = evaluation('granted');
    await Promise.all([then.evaluate('env', checks(1), later(-hour)), then.evaluate('env', checks(1), later(-hour))]);
    expect(then.asked.map(({ values }) => values.at(-1))).toEqual([later(-hour), later(-hour)]);
  });
});

const allowing = (...allowed: boolean[]) => {
  const asked: readonly Check[][] = [];
  const evaluate = async (_environmentId: string, checks: readonly Check[]): Promise<Decision[]> => {
    (asked as Check[][]).push([...checks]);
    return allowed.map((each) => ({ allowed: each, reason: each ? 'granted' : 'no_assignment' }));
  };
  return { asked, evaluation: { evaluate, heldThroughout: async () => new Set<string>() } };
};
const admin = (changes: Partial<AdminCaller> = {}): AdminCaller => ({
  type: 'platform_admin',
  userId: 'u',
  sessionId: 's',
  capabilities: [],
  roles: [],
  ...changes,
});
const limits = (changes: object) => ({
  application_ids: [],
  environment_ids: [],
  node_ids: [],
  ...changes,
});
const role = (limited: object | null, capabilities = ['env_roles.manage']) =>
  ({ key: null, roleId: 'r', capabilities, limits: limited && limits(limited) }) as never;
const key = (accessMode: 'full' | 'scoped', scopes: string[] = []): Caller => ({
  type: 'api_key',
  apiKeyId: 'k',
  name: 'key',
  accessMode,
  scopes,
});
const person: Caller = { type: 'identity', identityId: 'bob', sessionId: 's', authenticatedAt: now };

describe('granting', () => {
  test.each([
    ['an administrator', admin(), []],
    ['a full key', key('full'), []],
    ['a scoped key', key('scoped', ['identity.view']), ['identity.manage']],
    ['a person', person, ['identity.manage']],
  ])('%s lacks what they do not hold at the root', async (_name, caller, lacking) => {
    const { evaluation, asked } = allowing(true, false, true);
    const wanted = ['identity.view', 'identity.manage', 'door.open'];
    expect(await lackingAtRoot(evaluation, scope, caller, wanted)).toEqual(lacking);
    const checks = wanted.map((permission) => ({ identityId: 'bob', permission, nodeId: null }));
    expect(asked).toEqual(caller === person ? [checks] : []);
  });

  test('an undecided permission is lacking, and without permissions nothing is asked', async () => {
    expect(await lackingAtRoot(allowing().evaluation, scope, person, ['a'])).toEqual(['a']);
    const { evaluation, asked } = allowing();
    expect([await lackingAtRoot(evaluation, scope, person, []), asked]).toEqual([[], []]);
  });
});

describe('rights', () => {
  const asked = { permissions: ['identity.view', 'identity.manage'], capability: 'env_roles.manage' } as const;
  const rights = (decisions: Decision[] = [], ...rows: object[]) => {
    const checks: Check[] = [];
    const evaluate = async (_environmentId: string, of: readonly Check[]) => {
      checks.push(...of);
      return decisions;
    };
    const { db, asked: statements } = answering(rows);
    return {
      statements,
      checks,
      ...createRights({ db, evaluation: { evaluate, heldThroughout: async () => new Set() }, now: () => now }),
    };
  };

  test.each([
    ['a full key', key('full'), 'held', null],
    ['a key with one of the asked permissions', key('scoped', ['identity.manage']), 'held', null],
    ['a key with other permissions', key('scoped', ['role.view']), 'lacking', []],
  ])('%s holds a permission everywhere or nowhere', async (_name, caller, at, reach) => {
    expect(await rights().holdsAt(scope, caller, asked, 'room')).toBe(at);
    expect(await rights().reach(scope, caller, asked)).toEqual(reach);
  });

  test('a person holds it with any of the permissions, and a missing node is not revealed', async () => {
    const of = (...reasons: Reason[]) =>
      rights(reasons.map((reason) => ({ allowed: reason === 'granted', reason }))).holdsAt(
        scope,
        person,
        asked,
        'room',
      );
    expect(await of('no_assignment', 'granted')).toBe('held');
    expect(await of('no_assignment', 'role_inactive')).toBe('lacking');
    expect(await of('node_not_found', 'permission_not_found')).toBe('node_not_found');
    const { holdsAt, reach, checks, statements } = rights([], { id: 'one' }, { id: 'two' });
    await holdsAt(scope, person, asked, 'room');
    expect(checks).toEqual(asked.permissions.map((permission) => ({ identityId: 'bob', permission, nodeId: 'room' })));
    expect(await reach(scope, person, asked)).toEqual(['one', 'two']);
    expect(statements.map(({ values }) => values)).toEqual([['env', 'bob', asked.permissions, now]]);
  });

  test.each([
    ['without limits', [role(null)], 'held', null],
    ['of the environment', [role({ environment_ids: ['env'] })], 'held', null],
    ['of the application', [role({ application_ids: ['app'] })], 'held', null],
  ])('an administrator %s holds a permission everywhere, without a query', async (_name, roles, at, reach) => {
    const { holdsAt, reach: reachOf, statements } = rights();
    expect(await holdsAt(scope, admin({ roles }), asked, 'room')).toBe(at);
    expect(await reachOf(scope, admin({ roles }), asked)).toEqual(reach);
    expect(statements).toEqual([]);
  });

  test('an administrator of some nodes holds it there, and sees what leads there', async () => {
    const of = (roles: never[], ...rows: object[]) =>
      rights([], ...rows).holdsAt(scope, admin({ roles }), asked, 'room');
    const some = [role({ node_ids: ['house'] })];
    expect(await of(some, { is_held: true, is_shown: true })).toBe('held');
    expect(await of(some, { is_held: false, is_shown: true })).toBe('lacking');
    expect(await of(some, { is_held: false, is_shown: false })).toBe('node_not_found');
    expect(await of(some)).toBe('node_not_found');
    expect(await rights().reach(scope, admin({ roles: some }), asked)).toEqual(['house']);
    // Another role of theirs applies in the whole environment: they may see all of it.
    const everywhere = [...some, role({ environment_ids: ['env'] }, ['env.view'])];
    expect(await of(everywhere, { is_held: false, is_shown: false })).toBe('lacking');
    expect(await of(everywhere)).toBe('node_not_found');
  });

  test('an administrator’s query has the node, what they reach and what their limits name', async () => {
    const roles = [role({ node_ids: ['house'] }), role({ node_ids: ['shed'] }, ['env.view']), role(null, [])];
    const { holdsAt, statements } = rights([], { is_held: false, is_shown: false });
    expect(await holdsAt(scope, admin({ roles }), asked, 'room')).toBe('lacking');
    expect(statements.map(({ values }) => values)).toEqual([['env', 'room', ['house'], ['house', 'shed']]]);
  });

  test('without a capability, an administrator reaches nothing', async () => {
    const without = { permissions: asked.permissions };
    expect(await rights().reach(scope, admin({ roles: [role(null)] }), without)).toEqual([]);
  });
});

describe('taking over a person', () => {
  const held = [
    {
      permission: 'door.open',
      nodeId: 'room',
      isSystem: false,
      environmentId: 'env',
      applicationId: 'app',
      isEverywhere: false,
    },
    {
      permission: 'identity.manage',
      nodeId: 'house',
      isSystem: true,
      environmentId: 'env',
      applicationId: 'app',
      isEverywhere: true,
    },
  ];
  const elsewhere = [{ ...held[1], environmentId: 'other', applicationId: 'another' }];
  const supporting = (limits: object | null) => admin({ roles: [role(limits as never, ['identities.manage'])] });
  const guard = (caller: Caller, allowed: boolean[] = [], rows: object[] = held) => {
    const { evaluation, asked } = allowing(...allowed);
    const { db, asked: statements } = answering(rows);
    const done = createTakeoverGuard({ db, evaluation, assertRecent: async () => {}, now: () => now })(
      scope,
      caller,
      'ana',
    );
    return done.then(
      () => ({ allowed: true, asked, statements }),
      (error: Error & { code?: string }) => ({ allowed: error.code !== 'identity.holds_more', asked, statements }),
    );
  };

  test.each([
    ['an administrator may', supporting(null), [], true],
    ['an administrator of this Environment may', supporting({ environment_ids: ['env'] }), [], true],
    ['a full key may', key('full'), [], true],
    ["a key with the service's permission may", key('scoped', ['identity.manage']), [], true],
    ["a key with only the application's permission may not", key('scoped', ['door.open']), [], false],
    ['a person who holds as much may', person, [true, true], true],
    ['a person who holds less may not', person, [true, false], false],
    ['the person themselves may', { ...person, identityId: 'ana' } as Caller, [], true],
  ])('%s', async (_name, caller, decisions, may) => {
    expect((await guard(caller, decisions)).allowed).toBe(may);
  });

  test.each([
    ['an administrator may', supporting(null), [], true],
    ['an administrator of that application may', supporting({ application_ids: ['another'] }), [], true],
    ['an administrator of this Environment may not', supporting({ environment_ids: ['env'] }), [], false],
    ['a full key may', key('full'), [], true],
    ["a key with the service's permission here may not", key('scoped', ['identity.manage']), [], false],
    ['a person who holds as much there may', person, [true], true],
    ['a person who holds less there may not', person, [false], false],
  ])('who has permissions in another Environment: %s', async (_name, caller, decisions, may) => {
    expect((await guard(caller, decisions, elsewhere)).allowed).toBe(may);
  });

  test('the query is about what they hold where the other person holds it', async () => {
    const { asked, statements } = await guard(person, [true, true]);
    expect(asked).toEqual([held.map(({ permission, nodeId }) => ({ identityId: 'bob', permission, nodeId }))]);
    expect(statements.map(({ values }) => values)).toEqual([['acc', 'env', 'ana', now]]);
  });

  test('a person who holds nothing, and a caller who may anyway, need no further query', async () => {
    expect(await guard(person, [], [])).toMatchObject({ allowed: true, asked: [] });
    const all = admin({ roles: [role(null, [...capabilities])] });
    for (const caller of [all, key('full'), { ...person, identityId: 'ana' } as Caller]) {
      expect((await guard(caller)).statements).toEqual([]);
    }
  });
});

describe('a search', () => {
  const search = (...ids: string[]) => {
    const { db, asked } = answering(ids.map((id) => ({ id })));
    return { asked, ...createSearch({ db, now: () => now }) };
  };
  const subjects = { nodeId: null, permission: 'door.open' };
  const page = { after: 'before', limit: 2 };

  test('a page ends where there is no more, and says where the next one begins', async () => {
    expect(await search('a', 'b').subjects('env', subjects, page)).toEqual({ ids: ['a', 'b'], next: null });
    expect(await search('a', 'b', 'c').subjects('env', subjects, page)).toEqual({ ids: ['a', 'b'], next: 'b' });
    expect(await search('a', 'b', 'c', 'd').subjects('env', subjects, { ...page, limit: 3 })).toMatchObject({
      next: 'c',
    });
    expect(await search().subjects('env', subjects, page)).toEqual({ ids: [], next: null });
  });

  test('the statement requests one more than a page, after the page before', async () => {
    const { subjects: who, resources, actions, asked } = search('a');
    await who('env', subjects, page);
    expect(await resources('env', { identityId: 'ana', permission: 'door.open' }, page)).toEqual({
      ids: ['a'],
      next: null,
    });
    expect(await actions('env', { identityId: 'ana', nodeId: 'room' }, page)).toEqual({ ids: ['a'], next: null });
    expect(asked).toEqual([
      { name: 'search_subjects', values: ['env', null, 'door.open', now, 'before', 3] },
      { name: 'search_resources', values: ['env', 'ana', 'door.open', now, 'before', 3] },
      { name: 'search_actions', values: ['env', 'ana', 'room', now, 'before', 3] },
    ]);
  });
});

describe('the window of an assignment', () => {
  const moments = (effectiveFrom: Date | null, effectiveTo: Date | null, notices: number[] = []) =>
    momentsOf({ effectiveFrom, effectiveTo, createdAt: now }, notices).map(({ action, at }) => [
      action.replace('role_assignment.', ''),
      at.getTime() - now.getTime(),
    ]);

  test.each([
    ['is open', null, null, false],
    ['begins now', now, null, false],
    ['begins later', later(1), null, true],
    ['ends now', null, now, false],
    ['ends later', null, later(1), true],
    ['has begun and ends later', later(-1), later(1), true],
  ])('whether a bound is ahead of a window that %s', (_name, effectiveFrom, effectiveTo, is) =>
    expect(hasBoundAhead({ effectiveFrom, effectiveTo }, now)).toBe(is),
  );

  test('has its events in order', () => {
    expect(moments(null, null, [hour])).toEqual([]);
    expect(moments(now, null)).toEqual([]);
    expect(moments(later(day), null, [hour])).toEqual([['activated', day]]);
    expect(moments(later(day), later(3 * day), [hour, day, hour])).toEqual([
      ['activated', day],
      ['expiring', 2 * day],
      ['expiring', 3 * day - hour],
      ['expired', 3 * day],
    ]);
  });

  test('a notice at or before the beginning is left out, and so is one at the end', () => {
    expect(moments(later(day), later(3 * day), [2 * day, 0, 2 * day - 1])).toEqual([
      ['activated', day],
      ['expiring', day + 1],
      ['expired', 3 * day],
    ]);
    expect(moments(null, later(hour), [hour, hour - 1])).toEqual([
      ['expiring', 1],
      ['expired', hour],
    ]);
  });
});
