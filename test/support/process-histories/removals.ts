import { environmentRemovalId, identityErasureId } from '../../../workflows/ids.js';
import { outcomeOf } from '../answers.js';
import type { Call } from '../calls.js';
import type { Random } from '../random.js';
import { newHomes } from './homes.js';
import type { Act, Row, Subject } from './subject.js';
import { verbs } from './verbs.js';
import type { Place } from './windows.js';
import type { ProcessWorld } from './world.js';

interface Removal extends Row {
  /** Whether nothing is left of the person in it. */
  email: string;
  /** What waits there, and what each of it is once nothing is left. */
  contents: readonly Row[];
}

/**
 * Erasures of people and removals of Environments, one after the other, with what waits there: each goes on to its end
 * unless it is cancelled, which leaves what is left for another try. And deletions of organizations, which are at once.
 */
export function newRemovals(world: ProcessWorld, random: Random, owner: Call, place: Place): Subject {
  const rows: Row[] = [];
  const removals: Removal[] = [];
  const homes = newHomes(world, random, owner, place);
  const ids = { erasures: identityErasureId, environment_removals: environmentRemovalId };

  const remove = (): Act => {
    const { name, make } = random.of([homes.person, homes.environment, homes.organization]);
    const email = `udo.${random.below(1e9)}@private.example`;
    return {
      name: `a removal of ${name}`,
      async send() {
        const { of, contents, end } = await make(email);
        rows.push(...contents);
        // Either their processes wait already, or they have just been asked for.
        if (world.isWorking() && world.isRelaying() && random.below(2) === 0)
          await world.untilTheyWait(contents.map(({ workflowId }) => workflowId));
        const outcome = outcomeOf(await end());
        if (of === null) return outcome;
        const text = `select id from ${of.table} where ${of.column} = $1`;
        const id = (await world.query<{ id: string }>(text, of.id))[0]?.id ?? '';
        const row: Removal = {
          ...{ table: of.table, id, workflowId: ids[of.table](id), status: 'running', events: [], mails: [] },
          ...{ email, contents },
          stop() {
            row.status = 'cancelled';
          },
        };
        removals.push(row);
        rows.push(row);
        return outcome;
      },
      apply: () => '204',
      isLast: world.isWorking() && world.isRelaying(), // nobody knows how far it has come
    };
  };
  return {
    rows,
    draw(isFirst) {
      const row = removals.at(-1);
      // Before its process has been asked for, a cancel finds a row only.
      if (!row || (isFirst && (!world.isRelaying() || random.below(2) === 0))) return remove();
      const act = isFirst ? random.of(['cancel', 'retry'] as const) : 'cancel'; // its run may be stopping
      return { name: `${act} ${row.workflowId}`, ...verbs(owner, row, () => undefined)[act], isLast: act === 'retry' };
    },
    passes() {
      for (const row of removals.filter(({ status }) => status === 'running')) {
        row.status = 'completed';
        for (const one of row.contents) one.status = 'gone';
      }
    },
    async wrong() {
      const text = 'select email::text from identities where email = any($1::citext[])';
      const found = await world.query<{ email: string }>(
        text,
        removals.map(({ email }) => email),
      );
      const there = new Set(found.map(({ email }) => email));
      return removals
        .filter(({ status, email }) => there.has(email) !== (status !== 'completed'))
        .map(({ workflowId, status, email }) => `${workflowId} is ${status}, and ${there.has(email)}: ${email}`);
    },
  };
}
