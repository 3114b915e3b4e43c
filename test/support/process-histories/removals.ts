import { environmentRemovalId, identityErasureId } from '../../../workflows/ids.js';
import { outcomeOf } from '../answers.js';
import type { Call } from '../calls.js';
import type { Random } from '../random.js';
import type { Act, Row, Subject } from './subject.js';
import { verbs } from './verbs.js';
import type { ProcessWorld } from './world.js';

interface Removal extends Row {
  /** Whether nothing is left of the person in it. */
  email: string;
}

/**
 * Erasures of people and removals of Environments, one after the other: each goes on to its end unless it is cancelled,
 * which leaves what is left for another try.
 * @param environments the path of an Application's Environments
 */
export function newRemovals(world: ProcessWorld, random: Random, owner: Call, environments: string): Subject {
  const rows: Removal[] = [];
  const kinds = [
    {
      table: 'erasures',
      column: 'identity_id',
      idOf: identityErasureId,
      async remove(email: string) {
        const person = await made(`${environments}/development/identities`, { email, first_name: 'Ida' });
        return { of: person, outcome: outcomeOf(await owner('DELETE', `/identities/${person}`)) };
      },
    },
    {
      table: 'environment_removals',
      column: 'environment_id',
      idOf: environmentRemovalId,
      async remove(email: string) {
        const slug = `e-${random.below(1e9)}`;
        const environment = await made(environments, { name: slug, slug, type: 'development' });
        await made(`${environments}/${slug}/identities`, { email, first_name: 'Udo' });
        return {
          of: environment,
          outcome: outcomeOf(await owner('DELETE', `${environments}/${slug}?confirm=${slug}`)),
        };
      },
    },
  ];
  async function made(path: string, payload: object): Promise<string> {
    const answer = await owner('POST', path, payload);
    if (answer.statusCode !== 201) throw new Error(answer.body);
    return answer.json().data.id;
  }

  const remove = (): Act => {
    const { table, column, idOf, remove: begin } = random.of(kinds);
    const email = `udo.${random.below(1e9)}@private.example`;
    return {
      name: `a removal in ${table}`,
      async send() {
        const { of, outcome } = await begin(email);
        const [found] = await world.query<{ id: string }>(`select id from ${table} where ${column} = $1`, of);
        const id = found?.id ?? '';
        const row: Removal = {
          ...{ table, id, workflowId: idOf(id), status: 'running', events: [], mails: [], email },
          stop() {
            row.status = 'cancelled';
          },
        };
        rows.push(row);
        return outcome;
      },
      apply: () => '204',
      isLast: world.isWorking(), // nobody knows how far it has come
    };
  };
  return {
    rows,
    draw(isFirst) {
      const row = rows.at(-1);
      if (!row || (isFirst && random.below(2) === 0)) return remove();
      const act = isFirst ? random.of(['cancel', 'retry'] as const) : 'cancel'; // its run may be stopping
      return { name: `${act} ${row.workflowId}`, ...verbs(owner, row, () => undefined)[act], isLast: act === 'retry' };
    },
    passes() {
      for (const row of rows) if (row.status === 'running') row.status = 'completed';
    },
    async wrong() {
      const text = 'select email::text from identities where email = any($1::citext[])';
      const found = await world.query<{ email: string }>(
        text,
        rows.map(({ email }) => email),
      );
      const there = new Set(found.map(({ email }) => email));
      return rows
        .filter(({ status, email }) => there.has(email) !== (status !== 'completed'))
        .map(({ workflowId, status, email }) => `${workflowId} is ${status}, and ${there.has(email)}: ${email}`);
    },
  };
}
