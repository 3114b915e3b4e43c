import { days, hours } from '../../src/platform/clock.js';
import { outcomeOf } from '../support/answers.js';
import { newAccount, startApi, type TestAccount, type TestApi } from '../support/api.js';
import { linkTokenOf, newAddress, newRole } from '../support/identity-invites.js';
import { type Calls, callsWith } from '../support/nodes.js';
import { createRandom, type Random } from '../support/random.js';
import { byWeight, live, seedsOf } from '../support/random-histories.js';
import { rowsOf } from '../support/rows.js';

/**
 * Random histories of the members of two organizations, one inside the other: added and removed, invited, invited again
 * and let in, with roles for ever and for some hours, deleted, and their organizations deleted. Compared with the
 * contract's rules (§5) in their plainest form: who is a member, with which roles, and what still waits.
 */

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.stop());

const inviteLife = days(7);

interface Person {
  email: string;
  /** Null for somebody who is only invited so far. */
  id: string | null;
}
interface Held {
  identity: string;
  role: string;
  node: string;
  from: number | null;
  to: number | null;
}
interface Invite {
  id: string;
  organization: string;
  email: string;
  roles: string[];
  link: number;
  expiresAt: number;
  status: 'pending' | 'accepted' | 'revoked';
}

class Model {
  people: Person[] = [];
  /** From the outermost. */
  organizations: { id: string; parent: string | null; members: Set<string> }[] = [];
  held: Held[] = [];
  invites: Invite[] = [];

  path(id: string): string[] {
    const { parent } = this.organizations.find((one) => one.id === id) ?? { parent: null };
    return [...(parent === null ? [] : this.path(parent)), id];
  }
  membersOf = (id: string) => this.organizations.find((one) => one.id === id)?.members ?? new Set();
  statusOf = ({ status, expiresAt }: Invite, at: number) =>
    status === 'pending' && expiresAt <= at ? 'expired' : status;
  waiting = (at: number) => this.invites.filter((invite) => this.statusOf(invite, at) === 'pending');

  /** Returns the outcome of an assignment; carries it out. */
  give(wanted: Held, at: number): string {
    if (wanted.to !== null && wanted.to <= Math.max(at, wanted.from ?? at)) return '400 role_assignments.window_empty';
    const same = this.held.filter(
      ({ identity, role, node }) => identity === wanted.identity && role === wanted.role && node === wanted.node,
    );
    if (same.some(({ from, to }) => from === wanted.from && to === wanted.to)) return '200';
    const [begins, ends] = [(one: Held) => one.from ?? -Infinity, (one: Held) => one.to ?? Infinity];
    if (same.some((one) => begins(one) < ends(wanted) && begins(wanted) < ends(one)))
      return '409 role_assignments.overlapping';
    this.held.push(wanted);
    return '201';
  }
  /** Gives roles for ever; those that are held already, now or later, stay as they are. */
  giveLasting(identity: string, node: string, roles: readonly string[], at: number): void {
    for (const role of roles) {
      const there = this.held.filter((one) => one.identity === identity && one.node === node && one.role === role);
      if (there.some(({ to }) => to === null || to > at)) continue;
      this.held.push({ identity, role, node, from: there.length > 0 ? at : null, to: null });
    }
  }
  take(at: number, which: (held: Held) => boolean): void {
    this.held = this.held.filter((one) => !which(one) || (one.to !== null && one.to <= at));
  }
  leave(identity: string, organization: string, at: number): void {
    this.membersOf(organization).delete(identity);
    this.take(at, ({ identity: whose, node }) => {
      const [path, deeper] = [this.path(node), this.path(node).slice(this.path(node).indexOf(organization) + 1)];
      return (
        whose === identity && path.includes(organization) && !deeper.some((one) => this.membersOf(one).has(identity))
      );
    });
  }
  revoke(at: number, which: (invite: Invite) => boolean): void {
    for (const invite of this.waiting(at)) if (which(invite)) invite.status = 'revoked';
  }
}

interface World {
  account: TestAccount;
  key: Calls;
  model: Model;
  random: Random;
  roles: string[];
}

async function newOrganization({ key, model }: Pick<World, 'key' | 'model'>, parent: string | null): Promise<void> {
  const answer = await key('POST', '/organizations', { name: newAddress(), parent_node_id: parent });
  model.organizations.push({ id: answer.json().data.id, parent, members: new Set() });
}

async function newWorld(seed: number): Promise<World> {
  const account = await newAccount(api);
  const key = callsWith(api, await account.apiKey());
  const model = new Model();
  const it = { account, key, model, random: createRandom(seed), roles: [await newRole(key), await newRole(key)] };
  await newOrganization(it, null);
  await newOrganization(it, model.organizations[0]?.id ?? null);
  model.people = Array.from({ length: 2 }, () => ({ email: newAddress(), id: null }));
  return it;
}

const now = () => api.clock.now.getTime();
const someRoles = ({ random, roles }: World) => roles.filter(() => random.below(2) === 0);
interface Chosen {
  person: Person;
  organization: string;
}

async function add({ key }: World, { person }: Chosen): Promise<void> {
  const answer = await key('POST', '/identities', { email: person.email, email_verified: true });
  expect(outcomeOf(answer)).toBe(person.id === null ? '201' : '409 identity.email_taken');
  person.id ??= answer.json().data.id;
}

/** Deletes a person; somebody with another address takes their place. */
async function remove({ key, model }: World, { person }: Chosen): Promise<void> {
  const { id, email } = person;
  if (id === null) return;
  expect(outcomeOf(await key('DELETE', `/identities/${id}`))).toBe('204');
  for (const { members } of model.organizations) members.delete(id);
  model.held = model.held.filter(({ identity }) => identity !== id);
  model.revoke(now(), (invite) => invite.email === email);
  Object.assign(person, { id: null, email: newAddress() });
}

async function join(it: World, { person: { id }, organization }: Chosen): Promise<void> {
  const role_ids = someRoles(it);
  if (id === null) return;
  const answer = await it.key('POST', `/organizations/${organization}/members`, { identity_id: id, role_ids });
  const members = it.model.membersOf(organization);
  expect(outcomeOf(answer)).toBe(members.has(id) ? '409 organization.already_member' : '201');
  if (members.has(id)) return;
  members.add(id);
  it.model.giveLasting(id, organization, role_ids, now());
}

async function setRoles(it: World, { person: { id }, organization }: Chosen): Promise<void> {
  const role_ids = someRoles(it);
  if (id === null) return;
  const answer = await it.key('PATCH', `/organizations/${organization}/members/${id}`, { role_ids });
  const isMember = it.model.membersOf(organization).has(id);
  expect(outcomeOf(answer)).toBe(isMember ? '200' : '404 organization.member_not_found');
  if (!isMember) return;
  const isSuperfluous = ({ identity, node, role }: Held) =>
    identity === id && node === organization && !role_ids.includes(role);
  it.model.take(now(), isSuperfluous);
  it.model.giveLasting(id, organization, role_ids, now());
}

async function leave({ key, model }: World, { person: { id, email }, organization }: Chosen): Promise<void> {
  if (id === null) return;
  const isMember = model.membersOf(organization).has(id);
  const answer = await key('DELETE', `/organizations/${organization}/members/${id}`);
  expect(outcomeOf(answer)).toBe(isMember ? '204' : '404 organization.member_not_found');
  if (!isMember) return;
  model.leave(id, organization, now());
  model.revoke(now(), (invite) => invite.email === email && invite.organization === organization);
}

async function invite(it: World, { person: { id, email }, organization }: Chosen): Promise<void> {
  const { key, model } = it;
  const roles = someRoles(it);
  const isMember = id !== null && model.membersOf(organization).has(id);
  const isWaiting = model.waiting(now()).some((one) => one.email === email && one.organization === organization);
  const answer = await key('POST', `/organizations/${organization}/invitations`, { email, role_ids: roles });
  const refusal = isMember ? '409 identity_invite.already_member' : isWaiting && '409 identity_invite.already_pending';
  expect(outcomeOf(answer)).toBe(refusal || '201');
  if (refusal) return;
  const { id: made } = answer.json().data;
  const expiresAt = now() + inviteLife;
  model.invites.push({ id: made, organization, email, roles, link: 1, expiresAt, status: 'pending' });
}

const someInvite = ({ model, random }: World) => {
  const there = model.invites.filter(
    ({ organization, email }) =>
      model.organizations.some(({ id }) => id === organization) && model.people.some((one) => one.email === email),
  );
  return random.of(there.slice(-4));
};

async function resend(it: World): Promise<void> {
  const { key, model } = it;
  const chosen = someInvite(it);
  if (!chosen) return;
  const { id, email, organization } = chosen;
  const [owner] = model.people.filter((person) => person.email === email);
  const isMember = owner?.id != null && model.membersOf(organization).has(owner.id);
  const isAnotherWaiting = model
    .waiting(now())
    .some((one) => one !== chosen && one.email === email && one.organization === organization);
  const canWait = ['pending', 'expired'].includes(model.statusOf(chosen, now()));
  const refusal = !canWait
    ? '409 identity_invite.not_pending'
    : isMember
      ? '409 identity_invite.already_member'
      : isAnotherWaiting && '409 identity_invite.already_pending';
  const answer = await key('POST', `/organizations/${organization}/invitations/${id}/resend`);
  expect(outcomeOf(answer)).toBe(refusal || '200');
  if (!refusal) Object.assign(chosen, { link: chosen.link + 1, expiresAt: now() + inviteLife, status: 'pending' });
}

async function revoke(it: World): Promise<void> {
  const chosen = someInvite(it);
  if (!chosen) return;
  const { id, organization } = chosen;
  expect(outcomeOf(await it.key('DELETE', `/organizations/${organization}/invitations/${id}`))).toBe('204');
  it.model.revoke(now(), (one) => one === chosen);
}

/** Opens a link, the latest of an invite or the one before it. */
async function accept({ model, random }: World): Promise<void> {
  const chosen = random.of(model.invites.slice(-4));
  if (!chosen) return;
  const { id, email, organization, roles, link } = chosen;
  const opened = random.below(4) === 0 ? Math.max(1, link - 1) : link;
  const payload = { token: linkTokenOf(id, opened), password: 'violet tractor 19' };
  const answer = await api.app.inject({ method: 'POST', url: '/v1/identity/auth/accept-invite', payload });
  const isGood = model.statusOf(chosen, now()) === 'pending' && opened === link;
  expect(outcomeOf(answer)).toBe(isGood ? '200' : '400 invite.link_invalid');
  if (!isGood) return;
  chosen.status = 'accepted';
  const person = model.people.find((one) => one.email === email) as Person;
  const [row] = await rowsOf<{ id: string }>(api, 'select id from identities where email = $1', [email]);
  person.id ??= row?.id ?? null;
  const identity = person.id as string;
  expect(identity).toBe(row?.id);
  model.membersOf(organization).add(identity);
  model.giveLasting(identity, organization, roles, now());
}

async function assign({ key, model, random, roles }: World, { person: { id }, organization }: Chosen): Promise<void> {
  if (id === null) return;
  const [role, at] = [random.of(roles), now()];
  const [from, to] = [1, 2].map(() => random.of([null, -2, -1, 1, 2, 3])).map((n) => n && at + n * hours(1));
  const iso = (moment: number | null | undefined) => (moment ? new Date(moment).toISOString() : null);
  const body = { role_id: role, node_id: organization, effective_from: iso(from), effective_to: iso(to) };
  const wanted = { identity: id, role, node: organization, from: from ?? null, to: to ?? null };
  expect(outcomeOf(await key('POST', `/identities/${id}/role-assignments`, body))).toBe(model.give(wanted, at));
}

/** Deletes an organization with what is in it; new ones take their places. */
async function removeOrganization(it: World, { organization }: Chosen): Promise<void> {
  const { key, model } = it;
  const { version } = (await key('GET', `/organizations/${organization}`)).json().data;
  const answer = await key('DELETE', `/organizations/${organization}?cascade=true`, undefined, version);
  expect(outcomeOf(answer)).toBe('204');
  const gone = model.organizations.filter(({ id }) => model.path(id).includes(organization));
  const isGone = (id: string | null) => gone.some((one) => one.id === id);
  model.held = model.held.filter(({ node }) => !isGone(node));
  model.revoke(now(), (one) => isGone(one.organization));
  model.organizations = model.organizations.filter(({ id }) => !isGone(id));
  for (const { parent } of gone)
    await newOrganization(it, isGone(parent) ? (model.organizations.at(-1)?.id ?? null) : parent);
}

const steps: [number, (it: World, chosen: Chosen) => Promise<unknown>][] = [
  [4, add],
  [1, remove],
  [7, join],
  [4, setRoles],
  [7, leave],
  [7, invite],
  [3, resend],
  [2, revoke],
  [7, accept],
  [8, assign],
  [1, removeOrganization],
  [3, async ({ random }) => api.clock.advance(hours(random.of([1, 1, 2, 24, 168])))],
];
const weighted = byWeight(steps);

const inOrder = (rows: object[]) => rows.map((row) => JSON.stringify(row)).sort();

/** Expects members, counts, roles and invites to be the model's. */
async function compare({ account, key, model }: World): Promise<void> {
  const at = now();
  for (const { id, members } of model.organizations) {
    const { member_count, pending_invite_count } = (await key('GET', `/organizations/${id}`)).json().data;
    const waiting = model.waiting(at).filter(({ organization }) => organization === id);
    expect({ member_count, pending_invite_count }).toEqual({
      member_count: members.size,
      pending_invite_count: waiting.length,
    });
    const { items } = (await key('GET', `/organizations/${id}/members`)).json();
    const rolesOf = (who: string) =>
      model.held.filter((one) => one.identity === who && one.node === id && (one.to === null || one.to > at));
    const expected = [...members].map((who) => ({
      who,
      roles: [...new Set(rolesOf(who).map(({ role }) => role))].sort(),
    }));
    const shown = items.map((one: { identity_id: string; role_ids: string[] }) => ({
      who: one.identity_id,
      roles: one.role_ids.toSorted(),
    }));
    expect(inOrder(shown)).toEqual(inOrder(expected));
  }
  const held = await rowsOf<Held>(
    api,
    `select identity_id as identity, role_id as role, node_id as node, extract(epoch from effective_from) * 1000 as "from",
       extract(epoch from effective_to) * 1000 as "to" from role_assignments where environment_id = $1 and removed_at is null`,
    [account.scope.environmentId],
  );
  const inMs = (moment: number | null) => moment && Number(moment);
  expect(inOrder(held.map((one) => ({ ...one, from: inMs(one.from), to: inMs(one.to) })))).toEqual(inOrder(model.held));
  const invites = await rowsOf<{ id: string; status: string }>(
    api,
    `select id, case when status = 'pending' and expires_at <= $2 then 'expired' else status end as status
     from identity_invites where environment_id = $1`,
    [account.scope.environmentId, api.clock.now],
  );
  expect(inOrder(invites)).toEqual(
    inOrder(model.invites.map((one) => ({ id: one.id, status: model.statusOf(one, at) }))),
  );
}

test.each(seedsOf(1, 2))('in every history, members, roles and invites are those of the contract: %i', async (seed) => {
  const it = await newWorld(seed);
  await live(seed, 90, async (tell) => {
    const step = it.random.of(weighted);
    const chosen = { person: it.random.of(it.model.people), organization: it.random.of(it.model.organizations).id };
    const [who, where] = [it.model.people.indexOf(chosen.person), it.model.path(chosen.organization).length];
    tell(`${step.name || 'wait'} ${who} ${where} ${api.clock.now.toISOString()}`);
    api.clock.advance(1);
    await step(it, chosen);
    await compare(it);
  });
});
