import { tokenOf } from '../administrators.js';
import { outcomeOf } from '../answers.js';
import { rowsOf } from '../rows.js';
import {
  appointOwner,
  bodyOf,
  expectOutcome,
  managing,
  nowOf,
  removeMember,
  sent,
  someManager,
  someRole,
} from './member-steps.js';
import type { Invite } from './model.js';
import type { InAccount, Method, World } from './world.js';

/** How people are invited to administer an Account: who may offer what to whom, for how long, and who accepts it. */

const day = 86_400_000;

export async function inviteSomebody(
  world: World,
  account: InAccount,
  session = someManager(world, account),
  { email, userId } = world.random.of(world.people),
) {
  const { model } = account;
  const wanted = someRole(world, account, session);
  const isPending = model.invites.some((one) => one.email === email && model.statusOf(one, nowOf(world)) === 'pending');
  const refusal = (): string | null =>
    model.grantRefusal(model.heldBy(session.person), wanted) ??
    (model.members.has(userId) ? '409 member.already_member' : null) ??
    (isPending ? '409 administrator_invite.already_pending' : null);
  const expected = model.refusal(session, managing, {}, nowOf(world)) ?? refusal() ?? '201';
  const body = { email, first_name: 'Ivo', last_name: 'Kern', ...bodyOf(wanted) };
  const answer = await expectOutcome(world, session, account, ['POST', '/administrator-invites', body], expected);
  if (!answer) return;
  const { id, expires_at } = answer.json().data;
  model.invites.push({ id, email, ...sent(wanted), status: 'pending', expiresAt: Date.parse(expires_at), link: 1 });
}

const someInvite = ({ random }: World, { model }: InAccount): Invite | undefined => random.of(model.invites.slice(-3));
const isMember = (world: World, { model }: InAccount, { email }: Invite) =>
  world.people.some((one) => one.email === email && model.members.has(one.userId));

/** The link is mailed again, by the invite or by its process, or lasts longer: all of them renew the offer. */
export async function renewInvite(world: World, account: InAccount, session = someManager(world, account)) {
  const { model } = account;
  const invite = someInvite(world, account);
  if (!invite) return;
  const way = world.random.of(['invite', 'process', 'extension'] as const);
  const at = nowOf(world);
  const held = model.heldBy(session.person);
  const status = model.statusOf(invite, at);
  const isOpen = status === 'pending' || (way !== 'extension' && status === 'expired');
  const isRival = model.invites.some(
    (one) => one !== invite && one.email === invite.email && model.statusOf(one, at) === 'pending',
  );
  const refusal = (): string | null => {
    if (way !== 'invite' && !model.may(held, 'members.manage', {})) return '403 account.capability_required';
    if (!isOpen) return way === 'invite' ? '409 administrator_invite.not_pending' : '409 process.not_running';
    if (!model.roles.has(invite.role)) return '409 administrator_invite.role_deleted';
    const refused = model.grantRefusal(held, invite);
    if (refused || way === 'extension') return refused;
    if (isMember(world, account, invite)) return '409 member.already_member';
    return isRival ? '409 administrator_invite.already_pending' : null;
  };
  const asked = way === 'invite' ? managing : ({ level: 'account', capability: 'processes.manage' } as const);
  const expected = model.refusal(session, asked, {}, at) ?? refusal() ?? '200';
  const path = way === 'invite' ? `/administrator-invites/${invite.id}/resend` : `/processes/${invite.id}/resend`;
  const extend = [`/processes/${invite.id}/extend`, { until: new Date(at + 29 * day).toISOString() }] as const;
  const request: [Method, string, object?] = way === 'extension' ? ['POST', ...extend] : ['POST', path];
  if (!(await expectOutcome(world, session, account, request, expected))) return;
  if (way === 'extension') invite.expiresAt = at + 29 * day;
  else Object.assign(invite, { status: 'pending', link: invite.link + 1, expiresAt: at + 7 * day });
}

export async function revokeInvite(world: World, account: InAccount) {
  const { model } = account;
  const invite = someInvite(world, account);
  if (!invite) return;
  const session = someManager(world, account);
  const isOpen = model.statusOf(invite, nowOf(world)) === 'pending';
  const expected =
    model.refusal(session, managing, {}, nowOf(world)) ?? (isOpen ? '200' : '409 administrator_invite.not_pending');
  const path = `/administrator-invites/${invite.id}/revoke`;
  if (await expectOutcome(world, session, account, ['POST', path], expected)) invite.status = 'revoked';
}

/** The link counts, whoever opens it; an older one does not. */
export async function acceptInvite(world: World, account: InAccount, invite = someInvite(world, account)) {
  const { model } = account;
  if (!invite) return;
  const isOld = world.random.below(5) === 0 && invite.link > 1;
  const token = tokenOf(invite.id, isOld ? invite.link - 1 : invite.link);
  const isGood = !isOld && model.statusOf(invite, nowOf(world)) === 'pending';
  const payload = { token, first_name: 'Ivo', last_name: 'Kern', password: 'correct horse battery staple' };
  const answer = await world.api.app.inject({ method: 'POST', url: '/v1/auth/accept-invite', payload });
  expect(outcomeOf(answer)).toBe(isGood ? '200' : '400 invite.link_invalid');
  if (!isGood) return;
  invite.status = 'accepted';
  const { userId } = world.people.find(({ email }) => email === invite.email)!;
  if (model.members.has(userId)) return;
  const [row] = await rowsOf<{ id: string }>(
    world.api,
    'select id from memberships where account_id = $1 and user_id = $2',
    [model.id, userId],
  );
  model.members.set(userId, { id: row!.id, held: [sent(invite)] });
}

/** Whoever became an Owner while they were invited does not return by that invite after their removal. */
export async function removeInvited(world: World) {
  const { main, founder, people } = world;
  const { model } = main;
  const stranger = people.find(({ userId }) => !model.members.has(userId));
  const person = stranger ?? world.random.of(people);
  if (!stranger) await removeMember(world, main, founder, person.userId);
  const pending = () =>
    model.invites.find((one) => one.email === person.email && model.statusOf(one, nowOf(world)) === 'pending');
  if (!pending()) await inviteSomebody(world, main, founder, person);
  const invite = pending()!;
  await appointOwner(world, main, person);
  await removeMember(world, main, founder, person.userId);
  await acceptInvite(world, main, invite);
}
