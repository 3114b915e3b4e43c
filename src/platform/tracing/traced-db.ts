import type { EntityManager } from 'typeorm';
import type { Db, Statement } from '../database/db.js';
import type { SpanStart } from './spans.js';
import { activeTracing } from './tracing.js';

/**
 * Adds a span to each transaction and statement within a trace. Statements outside one, such as the polls for work, get
 * none. A statement's text does not hold its values.
 */
export function tracedDb(db: Db): Db {
  const tracing = activeTracing();
  if (!tracing) return db;
  const spanned = <T>(start: () => SpanStart, work: () => Promise<T>): Promise<T> =>
    tracing.current() ? tracing.run(start(), work) : work();

  /** Each transaction has its own query runner, which ends with it. */
  function spanStatements({ queryRunner: runner }: EntityManager): void {
    if (!runner) return;
    const query = runner.query.bind(runner) as (...args: unknown[]) => Promise<never>;
    runner.query = (text: string, ...rest: unknown[]) =>
      spanned(
        () => ofText(text),
        () => query(text, ...rest),
      );
  }

  return {
    ...db,
    transaction: (scope, work) =>
      spanned(
        () => ({ name: 'transaction' }),
        () =>
          db.transaction(scope, (tx) => {
            spanStatements(tx);
            return work(tx);
          }),
      ),
    statement: (statement, values) =>
      spanned(
        () => ofStatement(statement),
        () => db.statement(statement, values),
      ),
    statementIn: (scope, statement, values) =>
      spanned(
        () => ofStatement(statement),
        () => db.statementIn(scope, statement, values),
      ),
  };
}

/** The attribute names are those of OpenTelemetry's semantic conventions for databases. */
const ofStatement = ({ name, text }: Statement): SpanStart => ({
  name,
  kind: 'client',
  attributes: { 'db.system.name': 'postgresql', 'db.query.summary': name, 'db.query.text': text },
});

const ofText = (text: string): SpanStart => ofStatement({ name: summaryOf(text), text });

/** Returns a statement's operation and first table: `UPDATE invites`, `COMMIT`. */
function summaryOf(text: string): string {
  const [operation = ''] = /^\s*\w+/.exec(text) ?? [];
  const [, table] = /\b(?:from|into|update|join)\s+"?(\w+)"?/i.exec(text) ?? [];
  return [operation.trim().toUpperCase(), table].filter(Boolean).join(' ');
}
