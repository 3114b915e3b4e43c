import { isSame } from '../addresses.js';
import { linkTokenOf } from '../identity-invites.js';
import { somebodyWho, someJoining, someMembership } from './draws.js';
import { type DirectoryId, keyOf, type Person } from './model.js';
import { newPerson } from './rules.js';
import {
  expectOutcome,
  newAddress,
  now,
  password,
  someAddress,
  somebody,
  someNode,
  someOrganization,
  someRole,
  type World,
} from './world.js';

/** What administrators, and people themselves, do meanwhile: each answer has to be the model's. */

const missing = '404 identity.not_found';
const isHere = (person: Person | undefined): person is Person => person !== undefined && person.joinedAt !== null;

export async function addPerson(world: World): Promise<void> {
  const { key, model, random } = world;
  const email = someAddress(world);
  const isVerified = random.below(2) === 0;
  const body = { email, email_verified: isVerified, ...(random.below(2) === 0 && { password }) };
  const answer = await key('POST', '/identities', body);
  const known = model.byEmail(email);
  const isTaken = known && (known.joinedAt !== null || model.isBeingErased(known));
  expectOutcome(answer, isTaken ? '409 identity.email_taken' : '201');
  if (isTaken) return;
  const { id } = answer.json().data;
  const verification = { verifiedAt: isVerified ? now(world) : null, isAsserted: isVerified };
  const person = known ?? newPerson({ id, email, ...verification, hasPassword: 'password' in body });
  if (!known) model.people.push(person);
  model.joinEnvironment(person, now(world));
}

export async function removePerson(world: World): Promise<void> {
  const person = somebody(world);
  if (!person) return;
  expectOutcome(await world.key('DELETE', `/identities/${person.id}`), isHere(person) ? '204' : missing);
  if (isHere(person)) world.model.leaveEnvironment(person);
}

export async function setActive(world: World): Promise<void> {
  const { key, model, random } = world;
  const person = somebody(world);
  if (!person) return;
  const isActive = random.below(2) === 0;
  const answer = await key('POST', `/identities/${person.id}/${isActive ? 'activate' : 'deactivate'}`);
  expectOutcome(answer, isHere(person) ? '200' : missing);
  if (isHere(person)) model.setActive(person, isActive);
}

export async function setPassword(world: World): Promise<void> {
  const person = somebodyWho(world, ({ hasPassword, verifiedAt }) => !hasPassword && verifiedAt !== null);
  if (!person) return;
  const answer = await world.key('PUT', `/identities/${person.id}/password`, { password });
  const isAllowed = isHere(person) && !person.isInProduction;
  expectOutcome(answer, !isHere(person) ? missing : isAllowed ? '200' : '403 identity.in_production');
  if (isAllowed) Object.assign(person, { hasPassword: true, isSignedIn: false });
}

export async function moveAddress(world: World): Promise<void> {
  const [person, email] = [somebody(world), newAddress(world)];
  if (!person) return;
  const answer = await world.key('PATCH', `/identities/${person.id}`, { email });
  const refusal = !isHere(person) ? missing : person.isInProduction && '403 identity.in_production';
  expectOutcome(answer, refusal || '200');
  if (!refusal) Object.assign(person, { email, verifiedAt: null });
}

/** Somebody becomes a member of the production Environment, too. */
export async function joinProduction(world: World): Promise<void> {
  const person = somebody(world);
  if (!person || world.model.isBeingErased(person)) return;
  const answer = await world.production('POST', '/identities', { email: person.email });
  expectOutcome(answer, person.isInProduction ? '409 identity.email_taken' : '201');
  person.isInProduction = true;
}

export async function signIn(world: World): Promise<void> {
  const { api, clientId, sessions } = world;
  const person = somebodyWho(world, ({ hasPassword, verifiedAt, isSignedIn }) => {
    return hasPassword && verifiedAt !== null && !isSignedIn;
  });
  if (!person) return;
  const payload = { client_id: clientId, email: person.email, password };
  const answer = await api.app.inject({ method: 'POST', url: '/v1/identity/auth/login', payload });
  const knows = isHere(person) && person.isActive && person.hasPassword;
  const may = knows && person.verifiedAt !== null;
  expectOutcome(answer, may ? '200' : knows ? '403 identity.email_unverified' : '401');
  if (!may) return;
  sessions.set(person.id, answer.json().data.access_token);
  Object.assign(person, { wasSignedIn: true, isSignedIn: true });
}

export async function joinOrganization(world: World): Promise<void> {
  const [person, organization] = someJoining(world);
  if (person) await joinOne(world, person, organization);
}

export async function joinOne(world: World, person: Person, organization: DirectoryId): Promise<void> {
  const { key, model, random } = world;
  const role_ids = random.below(2) === 0 ? [someRole(world)] : [];
  const answer = await key('POST', `/organizations/${organization}/members`, { identity_id: person.id, role_ids });
  const isMember = model.isMember(organization, person);
  expectOutcome(answer, !isHere(person) ? missing : isMember ? '409 organization.already_member' : '201');
  if (!isHere(person) || isMember) return;
  model.join(person, organization);
  for (const role of role_ids) model.give({ identity: person.id, role, node: organization });
}

export async function leaveOrganization(world: World): Promise<void> {
  const { key, model } = world;
  const [person, organization] = someMembership(world);
  if (!person) return;
  const isMember = model.isMember(organization, person);
  const answer = await key('DELETE', `/organizations/${organization}/members/${person.id}`);
  expectOutcome(answer, isMember ? '204' : '404 organization.member_not_found');
  if (isMember) model.leave(person, organization);
}

/** Sets the roles of a member: those that they hold already stay what they are. */
export async function setRoles(world: World): Promise<void> {
  const { key, model, random } = world;
  const [person, node] = someMembership(world);
  if (!person) return;
  const role_ids = [...model.access.roles.keys()].filter(() => random.below(2) === 0);
  const answer = await key('PATCH', `/organizations/${node}/members/${person.id}`, { role_ids });
  const isMember = model.isMember(node, person);
  expectOutcome(answer, isMember ? '200' : '404 organization.member_not_found');
  if (!isMember) return;
  const held = model.held();
  model.take((one) => one.identity === person.id && one.node === node && !role_ids.includes(one.role));
  const places = role_ids.map((role) => ({ identity: person.id, role, node }));
  for (const place of places) if (!held.has(keyOf(place))) model.give(place);
}

export async function give(world: World): Promise<void> {
  const { key, model } = world;
  const person = somebody(world);
  if (!person) return;
  const [role, node] = [someRole(world), someNode(world)];
  const answer = await key('POST', `/identities/${person.id}/role-assignments`, { role_id: role, node_id: node });
  expectOutcome(answer, isHere(person) ? model.give({ identity: person.id, role, node }) : missing);
}

export async function take(world: World): Promise<void> {
  const { key, model } = world;
  const person = somebody(world);
  if (!isHere(person)) return;
  const { items } = (await key('GET', `/identities/${person.id}/role-assignments`)).json();
  const one = world.random.of(items as { assignment_id: string; id: string; node_id: string }[]);
  if (!one) return;
  expectOutcome(await key('DELETE', `/identities/${person.id}/role-assignments/${one.assignment_id}`), '204');
  model.take(({ identity, role, node }) => identity === person.id && role === one.id && node === one.node_id);
}

export async function invite(world: World): Promise<void> {
  const { key, model, random } = world;
  const [email, organization] = [someAddress(world), someOrganization(world)];
  const known = model.byEmail(email);
  if (known && model.isBeingErased(known)) return;
  const roles = random.below(2) === 0 ? [someRole(world)] : [];
  const answer = await key('POST', `/organizations/${organization}/invitations`, { email, role_ids: roles });
  const isWaiting = model.invites.some((one) => one.organization === organization && isSame(one.email, email));
  const isMember = known !== undefined && model.isMember(organization, known);
  const refusal = isMember ? 'already_member' : isWaiting && 'already_pending';
  expectOutcome(answer, refusal ? `409 identity_invite.${refusal}` : '201');
  if (!refusal) model.invites.push({ id: answer.json().data.id, organization, email, roles, madeAt: now(world) });
}

/** Somebody opens the link of their invite. Who has not proved their address before is its owner from now on. */
export async function accept(world: World): Promise<void> {
  const { api, model, random } = world;
  const invite = random.of(model.invites);
  const known = invite && model.byEmail(invite.email);
  if (!invite || (known && model.isBeingErased(known))) return;
  const payload = { token: linkTokenOf(invite.id), password };
  const answer = await api.app.inject({ method: 'POST', url: '/v1/identity/auth/accept-invite', payload });
  const isKeptOut = isHere(known) && !known.isActive;
  expectOutcome(answer, isKeptOut ? '400 invite.link_invalid' : '200');
  if (isKeptOut) return;
  const { items } = (await world.key('GET', `/identities?email=${encodeURIComponent(invite.email)}`)).json();
  const person = known ?? newPerson({ id: items[0].id, email: invite.email });
  if (!known) model.people.push(person);
  if (!isHere(person)) model.joinEnvironment(person, now(world));
  const isProved = person.verifiedAt !== null && !(person.isAsserted && person.verifiedAt > invite.madeAt);
  if (!isProved) model.prove(person, now(world), true);
  model.join(person, invite.organization);
  const roles = invite.roles.filter((role) => model.access.roles.has(role));
  for (const role of roles) model.give({ identity: person.id, role, node: invite.organization });
  model.invites = model.invites.filter((one) => one !== invite);
}
