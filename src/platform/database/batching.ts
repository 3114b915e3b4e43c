import { inNoShare } from '../context.js';
import { isOutage } from '../outages.js';
import { unstoppable } from './aborting.js';

/** Asks several questions of one group at once; returns the answers in their order. */
export type Ask<Question, Answer> = (group: string, questions: readonly Question[]) => Promise<Answer[]>;

/**
 * Returns the rows in the order of the questions that they answer; undefined where a question has no answer.
 * @param rows each with its question's `position`, from 1, as `with ordinality` counts; a bigint comes as text
 */
export function byPosition<Row extends { position: number | string }>(
  questions: readonly unknown[],
  rows: readonly Row[],
): (Row | undefined)[] {
  const byPosition = new Map(rows.map((row) => [Number(row.position), row]));
  return questions.map((_, index) => byPosition.get(index + 1));
}

/** The most statements of one group that run at once. */
const maxRunning = 2;
/**
 * Questions that arrive while a statement runs wait for it and are then sent together: the more, the cheaper each. They
 * do not wait for a statement that takes longer than this (it waits for a lock, or answers a thousand questions).
 */
const aloneForMs = 10;
/** A larger batch gains nothing more, so it is sent although another statement runs. */
const maxTogether = 200;

interface Waiting<Question, Answer> {
  questions: readonly Question[];
  resolve(answers: Answer[]): void;
  reject(error: unknown): void;
}
interface Gathered<Question, Answer> {
  waiting: Waiting<Question, Answer>[];
  running: number;
  isScheduled: boolean;
  /** Fires when the running statement turns out to be slow. */
  patience: NodeJS.Timeout | undefined;
  /** The running statement is slow, so another one may run at the same time. */
  isSlow: boolean;
}

/**
 * Batches questions that arrive together into one statement, as DataLoader does, but with at most two statements at
 * once per group. No question waits for others to arrive: those of one turn of the event loop are sent together, and
 * those that arrive while a statement runs are sent with the next. An answer is never older than its question, since
 * the statement is sent after it.
 */
export function createBatcher<Question, Answer>(ask: Ask<Question, Answer>): Ask<Question, Answer> {
  const groups = new Map<string, Gathered<Question, Answer>>();

  function schedule(group: string, gathered: Gathered<Question, Answer>): void {
    if (gathered.isScheduled || gathered.running >= maxRunning) return;
    const mayGo = gathered.running === 0 || gathered.isSlow || gathered.waiting.length >= maxTogether;
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
    const together = gathered.waiting.splice(0, maxTogether);
    gathered.running++;
    if (gathered.waiting.length > 0) schedule(group, gathered);
    await inNoShare(() => unstoppable(() => answer(group, together)));
    gathered.running--;
    if (gathered.running === 0) {
      clearTimeout(gathered.patience);
      gathered.patience = undefined;
      gathered.isSlow = false;
    }
    if (gathered.waiting.length > 0) schedule(group, gathered);
    else if (gathered.running === 0 && !gathered.isScheduled) groups.delete(group);
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
      // A question that PostgreSQL refuses (as for a character that it cannot store) must not make the others fail.
      if (together.length === 1 || isOutage(error)) for (const { reject } of together) reject(error);
      else for (const { questions, resolve, reject } of together) ask(group, questions).then(resolve, reject);
    }
  }

  return (group, questions) =>
    new Promise((resolve, reject) => {
      let gathered = groups.get(group);
      if (!gathered) {
        gathered = { waiting: [], running: 0, isScheduled: false, patience: undefined, isSlow: false };
        groups.set(group, gathered);
      }
      gathered.waiting.push({ questions, resolve, reject });
      schedule(group, gathered);
    });
}
