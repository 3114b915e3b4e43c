import { isOutage } from '../outages.js';
import { unstoppable } from './giving-up.js';

/** Asks several questions of one group at once; answers in their order. */
export type Ask<Question, Answer> = (group: string, questions: readonly Question[]) => Promise<Answer[]>;

/**
 * Rows as answers to the questions that they were asked for together, in the order of those; undefined where one has none.
 * @param rows each with its question's `position`, from 1, as `with ordinality` counts; its bigint comes as text
 */
export function byPosition<Row extends { position: number | string }>(
  questions: readonly unknown[],
  rows: readonly Row[],
): (Row | undefined)[] {
  const byPosition = new Map(rows.map((row) => [Number(row.position), row]));
  return questions.map((_, index) => byPosition.get(index + 1));
}

/** As many statements of one group are under way at most. */
const mostUnderWay = 2;
/**
 * What comes while one is under way waits for it, and goes as one: the more go together, the less each of them costs. One that takes
 * longer than this (it waits for a lock, or answers a thousand questions) is not waited for.
 */
const aloneForMs = 10;
/** More are not gained by, and go beside it at once. */
const mostTogether = 200;

interface Waiting<Question, Answer> {
  questions: readonly Question[];
  resolve(answers: Answer[]): void;
  reject(error: unknown): void;
}
interface Gathered<Question, Answer> {
  waiting: Waiting<Question, Answer>[];
  underWay: number;
  isScheduled: boolean;
  /** Until it is noticed that what is under way takes long. */
  patience: NodeJS.Timeout | undefined;
  /** It does, and another one goes beside it. */
  isSlow: boolean;
}

/**
 * Batches requests that arrive together into one statement, as DataLoader does, but with at most two under way for each group. None
 * waits for others to come: what arrived in one turn of the event loop goes together, and what arrives while a statement is under
 * way goes with the next. An answer is never older than its question: each is asked after it was put.
 */
export function createBatcher<Question, Answer>(ask: Ask<Question, Answer>): Ask<Question, Answer> {
  const groups = new Map<string, Gathered<Question, Answer>>();

  function schedule(group: string, gathered: Gathered<Question, Answer>): void {
    if (gathered.isScheduled || gathered.underWay >= mostUnderWay) return;
    const mayGo = gathered.underWay === 0 || gathered.isSlow || gathered.waiting.length >= mostTogether;
    if (!mayGo) {
      gathered.patience ??= setTimeout(() => {
        gathered.isSlow = true;
        schedule(group, gathered);
      }, aloneForMs);
      return;
    }
    gathered.isScheduled = true;
    setImmediate(() => {
      gathered.isScheduled = false;
      void send(group, gathered);
    });
  }

  async function send(group: string, gathered: Gathered<Question, Answer>): Promise<void> {
    const together = gathered.waiting.splice(0, mostTogether);
    gathered.underWay++;
    if (gathered.waiting.length > 0) schedule(group, gathered);
    await unstoppable(() => answer(group, together));
    gathered.underWay--;
    if (gathered.underWay === 0) {
      clearTimeout(gathered.patience);
      gathered.patience = undefined;
      gathered.isSlow = false;
    }
    if (gathered.waiting.length > 0) schedule(group, gathered);
    else if (gathered.underWay === 0 && !gathered.isScheduled) groups.delete(group);
  }

  async function answer(group: string, together: readonly Waiting<Question, Answer>[]): Promise<void> {
    try {
      const answers = await ask(
        group,
        together.flatMap(({ questions }) => questions),
      );
      let from = 0;
      for (const { questions, resolve } of together) {
        resolve(answers.slice(from, from + questions.length));
        from += questions.length;
      }
    } catch (error) {
      // What PostgreSQL refuses of one (a character that it cannot hold) is not to spoil the others.
      if (together.length === 1 || isOutage(error)) for (const { reject } of together) reject(error);
      else for (const { questions, resolve, reject } of together) ask(group, questions).then(resolve, reject);
    }
  }

  return (group, questions) =>
    new Promise((resolve, reject) => {
      let gathered = groups.get(group);
      if (!gathered) {
        gathered = { waiting: [], underWay: 0, isScheduled: false, patience: undefined, isSlow: false };
        groups.set(group, gathered);
      }
      gathered.waiting.push({ questions, resolve, reject });
      schedule(group, gathered);
    });
}
