import { days } from '../../../src/platform/clock.js';
import { inviteId } from '../../../workflows/ids.js';
import { outcomeOf } from '../answers.js';
import type { Call } from '../calls.js';
import type { Random } from '../random.js';
import type { Act, Row, Subject } from './subject.js';
import type { ProcessWorld } from './world.js';

interface Invite extends Row {
  /** How many links were sent. */
  links: number;
  /** Of which link its reminder was sent. */
  reminded: number;
  deadline: number;
}
/** A kind of invite. */
export interface InviteKind {
  table: 'administrator_invites' | 'identity_invites';
  /** Of its codes. */
  name: 'administrator_invite' | 'identity_invite';
  path: string;
  body: object;
  acceptUrl: string;
  tokenOf(id: string, link: number): string;
  canBeExtended: boolean;
}
const life = days(7);

/** Invites to one address, one after the other: each ends by its latest link, by a revocation, or after its time. */
export function newInvites(world: ProcessWorld, random: Random, owner: Call, kind: InviteKind): Subject {
  const rows: Invite[] = [];
  const name = { first_name: 'Ivo', last_name: 'Kernseif' };
  const password = 'violet tractor 19';
  let email = '';
  const current = () => rows.at(-1) as Invite;
  const post = async (path: string, payload?: object) => outcomeOf(await owner('POST', path, payload));
  const notPending = `409 ${kind.name}.not_pending`;
  const end = (status: 'accepted' | 'revoked') => {
    current().status = status;
    if (status === 'revoked') current().events.push('revoked');
    return '200';
  };
  const isPending = () => current().status === 'pending';
  const renew = (deadline: number) => {
    current().deadline = deadline;
    return '200';
  };

  const create = (): Act => ({
    name: `${kind.name} to somebody new`,
    async send() {
      email = `ivo.${random.below(1e9)}@private.example`;
      const answer = await owner('POST', kind.path, { email, ...name, ...kind.body });
      if (answer.statusCode !== 201) return answer.body;
      const { id } = answer.json().data;
      rows.push({
        ...{ table: kind.table, id, workflowId: inviteId(id), status: 'pending', events: [], mails: [] },
        ...{ links: 1, reminded: 0, deadline: world.now() + life, link: 'link/1' },
        stop: () => end('revoked'),
      });
      return '201';
    },
    apply: () => '201',
  });
  const acts = {
    accept: (id: string, isLatest = random.below(4) > 0) => {
      const link = Math.max(1, current().links - (isLatest ? 0 : 1));
      const payload = { token: kind.tokenOf(id, link), ...name, password };
      return {
        send: async () => outcomeOf(await world.api.app.inject({ method: 'POST', url: kind.acceptUrl, payload })),
        apply: () => (isPending() && current().links === link ? end('accepted') : '400 invite.link_invalid'),
        isTwice: true,
      };
    },
    revoke: (id: string) => ({
      send: () => post(`${kind.path}/${id}/revoke`),
      apply: () => (isPending() ? end('revoked') : notPending),
      isTwice: true,
    }),
    resend: (id: string) => ({
      send: () => post(`${kind.path}/${id}/resend`),
      apply() {
        if (!isPending() && current().status !== 'expired') return notPending;
        const links = current().links + 1;
        Object.assign(current(), { status: 'pending', links, link: `link/${links}` });
        return renew(world.now() + life);
      },
    }),
    extend: (id: string) => ({
      send: () => post(`/processes/${id}/extend`, { expires_in: '10d' }),
      apply() {
        if (!kind.canBeExtended) return '409 process.verb_not_supported';
        if (!isPending()) return '409 process.not_running';
        const until = world.now() + days(10);
        return until > current().deadline ? renew(until) : '400 validation.failed';
      },
      isTwice: true,
    }),
    cancel: (id: string) => ({
      send: () => post(`/processes/${id}/cancel`, { reason: 'a mistake' }),
      apply: () => (isPending() ? end('revoked') : '409 process.not_running'),
      isTwice: true,
    }),
  };
  const draws = ['accept', 'revoke', 'resend', 'resend', 'extend', 'extend', 'cancel'] as const;
  return {
    rows,
    draw() {
      const one = rows.at(-1);
      if (!one || (one.status !== 'pending' && random.below(2) === 0)) return create();
      if (one.status === 'pending' && random.below(2) === 0) return undefined; // it has to wait, to be reminded of
      const act = random.of(draws);
      return { name: `${act} ${one.workflowId}`, ...acts[act](one.id) };
    },
    late: () =>
      rows
        .slice(-1)
        .flatMap((one) => (one.status === 'expired' ? { name: 'accept', ...acts.accept(one.id, true) } : [])),
    passes() {
      for (const one of rows.filter(({ status }) => status === 'pending')) {
        if (world.now() >= one.deadline) {
          one.status = 'expired';
          one.events.push('expired');
        } else if (world.now() >= one.deadline - days(2) && one.reminded < one.links) {
          one.reminded = one.links;
          one.mails.push(`reminder/${one.links}`);
        }
      }
    },
  };
}
