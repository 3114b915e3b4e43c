import { createMfaGraces } from '../../../src/domain/mfa/grace/grace.js';
import { days, hours } from '../../../src/platform/clock.js';
import type { EnvironmentScope } from '../../../src/platform/scope.js';
import { mfaGraceId, roleAssignmentWindowId } from '../../../workflows/ids.js';
import { outcomeOf } from '../answers.js';
import type { Call } from '../calls.js';
import { graceChanges } from '../graces.js';
import type { Random } from '../random.js';
import type { Act, Row, Subject } from './subject.js';
import { verbs } from './verbs.js';
import type { ProcessWorld } from './world.js';

/** Where people have roles and graces. */
export interface Place {
  path: string;
  /** The path of its Application's Environments. */
  environments: string;
  scope: EnvironmentScope;
  roleId: string;
}

const newPerson = async (owner: Call, { path }: Place, random: Random): Promise<string> => {
  const email = `ida.${random.below(1e9)}@private.example`;
  const answer = await owner('POST', `${path}/identities`, { email, first_name: 'Ida' });
  if (answer.statusCode !== 201) throw new Error(answer.body);
  return answer.json().data.id;
};

interface Window extends Row {
  identityId: string;
  isRemoved?: boolean;
  /** What is still to be recorded, and when. */
  ahead: { what: string; at: number }[];
}

/** Roles for a time, one after the other: their moments are recorded and mailed when they come, unless they are stopped. */
export function newRoleWindows(world: ProcessWorld, random: Random, owner: Call, place: Place): Subject {
  const rows: Window[] = [];

  const assign = (): Act => ({
    name: 'a role for a time',
    async send() {
      const identityId = await newPerson(owner, place, random);
      const now = world.now();
      const from = random.below(2) === 0 ? now + hours(random.between(1, 60)) : null;
      const to = from && random.below(4) === 0 ? null : (from ?? now) + hours(random.between(2, 300));
      const iso = (at: number | null) => at && new Date(at).toISOString();
      const answer = await owner('POST', `${place.path}/identities/${identityId}/role-assignments`, {
        ...{ role_id: place.roleId, effective_from: iso(from), effective_to: iso(to), notify_holder: true },
      });
      if (answer.statusCode !== 201) return answer.body;
      const id = answer.json().data.assignment_id;
      const notices = [days(7), days(1)].map((before) => ({ what: 'expiring', at: (to ?? 0) - before }));
      const row: Window = {
        ...{ table: 'role_assignment_windows', id, workflowId: roleAssignmentWindowId(id), identityId },
        ...{ status: 'running', events: [], mails: [] },
        ahead: [
          ...(from ? [{ what: 'activated', at: from }] : []),
          ...notices.filter(({ at }) => at > (from ?? now)),
          ...(to ? [{ what: 'expired', at: to }] : []),
        ],
        stop() {
          row.status = 'cancelled';
          row.events.push('window_cancelled');
        },
      };
      rows.push(row);
      return '201';
    },
    apply: () => '201',
  });
  const remove = (row: Window): Omit<Act, 'name'> => ({
    async send() {
      const path = `${place.path}/identities/${row.identityId}/role-assignments/${row.id}`;
      return outcomeOf(await owner('DELETE', path));
    },
    apply() {
      if (row.isRemoved) return '404 role_assignments.not_found';
      if (row.status === 'running') row.status = 'removed';
      row.isRemoved = true;
      return '204';
    },
  });
  return {
    rows,
    draw(isFirst) {
      const row = rows.at(-1);
      if (!row || (row.status !== 'running' && random.below(3) > 0)) return assign();
      if (row.status === 'running' && random.below(3) > 0) return undefined;
      const act = random.of(['cancel', 'retry', 'retry', 'remove'] as const);
      if (act === 'retry' && !isFirst) return undefined; // its run may be stopping
      // Moments that came meanwhile are not recorded any more.
      const resume = () => (row.ahead = row.ahead.filter(({ at }) => at > world.now()));
      const acts = { ...verbs(owner, row, resume), remove: remove(row) };
      return { name: `${act} ${row.workflowId}`, ...acts[act] };
    },
    passes() {
      for (const row of rows.filter(({ status }) => status === 'running')) {
        const due = row.ahead.filter(({ at }) => at <= world.now());
        row.ahead = row.ahead.filter(({ at }) => at > world.now());
        row.events.push(...due.map(({ what }) => what));
        // If several have come, the person gets a mail about the last one only.
        row.mails.push(...due.slice(-1).map(({ what, at }) => `role_assignment.${what}/${at}`));
        if (row.ahead.length === 0) row.status = 'completed';
      }
    },
  };
}

interface Grace extends Row {
  identityId: string;
  round: number;
  startedAt: number;
  deadline: number;
}
const reminders = [days(1), days(3)];
export const gracesOf = ({ api }: ProcessWorld) =>
  createMfaGraces({ db: api.database.db, now: () => api.clock.now, reminders });

/** Times to enroll a second factor, one after the other: each has its reminders and its end, unless it is stopped. */
export function newGraces(world: ProcessWorld, random: Random, owner: Call, place: Place): Subject {
  const rows: Grace[] = [];
  const graces = gracesOf(world);
  const changes = graceChanges({ db: world.api.database.db, now: () => world.api.clock.now });
  const { scope } = place;
  const begin = (row: Grace, lasts: number) =>
    Object.assign(row, {
      status: 'running',
      round: row.round + 1,
      startedAt: world.now(),
      deadline: world.now() + lasts,
    });

  const create = (): Act => {
    const lasts = random.of([2, 5, 10]);
    return {
      name: `${lasts} days for somebody new`,
      async send() {
        const identityId = await newPerson(owner, place, random);
        await graces.start(scope, identityId, lasts);
        const [found] = await world.query<{ id: string }>(
          'select id from mfa_graces where identity_id = $1',
          identityId,
        );
        const workflowId = mfaGraceId(scope.environmentId, identityId);
        const row: Grace = {
          ...{ table: 'mfa_graces', id: found?.id ?? '', subjectId: identityId, workflowId, identityId },
          ...{ status: 'running', events: [], mails: [], round: 0, startedAt: 0, deadline: 0 },
          stop() {
            row.status = 'cancelled';
            row.events.push('mfa_grace_cancelled');
          },
        };
        rows.push(row);
        return 'begun';
      },
      apply: () => begin(rows.at(-1)!, days(lasts)) && 'begun',
    };
  };
  const acts = (row: Grace): Record<string, Omit<Act, 'name'>> => {
    const lasts = random.of([2, 5, 10]);
    const after = (change: Promise<unknown>) => change.then(() => 'done');
    return {
      ...verbs(owner, row, () => undefined, {
        canResume: () => row.status === 'cancelled' && world.now() < row.deadline,
      }),
      signIn: {
        send: () => after(graces.start(scope, row.identityId, lasts)),
        apply() {
          if (row.status === 'reset') begin(row, days(lasts));
          else if (row.status === 'enrolled' && world.now() < row.deadline) row.status = 'running';
          return 'done';
        },
      },
      enroll: {
        send: () => after(changes.enrolled(scope, row.identityId)),
        apply() {
          if (row.status !== 'reset') row.status = 'enrolled';
          return 'done';
        },
        isTwice: true,
      },
      reset: {
        send: () => after(changes.reset(scope, row.identityId, lasts)),
        apply: () => begin(row, days(lasts)) && 'done',
      },
      forget: {
        send: () => after(changes.reset(scope, row.identityId, 0)),
        apply() {
          row.status = 'reset';
          return 'done';
        },
        isTwice: true,
      },
    };
  };
  return {
    rows,
    draw(isFirst) {
      const row = rows.at(-1);
      if (!row || (row.status !== 'running' && random.below(4) === 0)) return create();
      if (row.status === 'running' && random.below(3) > 0) return undefined;
      const act = random.of(['cancel', 'retry', 'retry', 'signIn', 'signIn', 'enroll', 'reset', 'forget']);
      if (act === 'retry' && !isFirst) return undefined; // its run may be stopping
      return { name: `${act} ${row.workflowId}`, ...acts(row)[act]! };
    },
    passes() {
      for (const row of rows.filter(({ status }) => status === 'running')) {
        if (world.now() >= row.deadline) {
          row.status = 'expired';
          row.events.push('mfa_grace_expired');
          continue;
        }
        const before = reminders.find((one) => row.startedAt < row.deadline - one && row.deadline - one <= world.now());
        const mail = before && `${row.round}/${row.deadline}/${before}`;
        if (mail && !row.mails.includes(mail)) row.mails.push(mail);
      }
    },
  };
}
