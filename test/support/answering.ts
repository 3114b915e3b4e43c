import type { Statement } from '../../src/platform/database/db.js';

export interface Asked {
  name: string;
  values: readonly unknown[];
}

/**
 * A stand-in database for rules that work on what a database answers: it answers each statement, by its name, with
 * these rows, and records the statements. Of a transaction it records the events and the other writes, and answers them
 * with nothing.
 */
export function answering(rows: Record<string, readonly object[]> | readonly object[] = []) {
  const asked: Asked[] = [];
  const events: Record<string, unknown>[] = [];
  const written: { scope: unknown; values: readonly unknown[] }[] = [];
  const db = {
    async statement({ name }: Statement, values: readonly unknown[]) {
      asked.push({ name, values });
      return Array.isArray(rows) ? rows : ((rows as Record<string, object[]>)[name] ?? []);
    },
    async transaction(scope: unknown, work: (tx: unknown) => unknown) {
      const query = async (text: string, values: readonly unknown[] = []) => {
        if (text.includes('insert into events')) events.push(JSON.parse(values[0] as string));
        else written.push({ scope, values });
        return [[], 0];
      };
      return work({ query });
    },
  };
  return { db: db as never, asked, events, written };
}
