import pg from 'pg';

/** The SQLSTATEs that are handled, under PostgreSQL's names (its documentation, Appendix A). */
const sqlStates = {
  foreign_key_violation: '23503',
  in_failed_sql_transaction: '25P02',
  serialization_failure: '40001',
  deadlock_detected: '40P01',
  insufficient_privilege: '42501',
  undefined_table: '42P01',
  lock_not_available: '55P03',
} as const;

/** PostgreSQL's error, which TypeORM wraps. */
export const driverErrorOf = (error: unknown): pg.DatabaseError | undefined =>
  (error as { driverError?: pg.DatabaseError })?.driverError ?? (error instanceof pg.DatabaseError ? error : undefined);

/** Conditions with which PostgreSQL ends a connection, whatever it is at. */
const onlyFatal = /^(08...|25P0[34]|28...|3D000|53300|57P0[1-5])$/;
/** What in PostgreSQL looks whether a connection may begin. */
const atBeginning = /^(InitPostgres|CheckMyDatabase)$/;

/**
 * Whether the connection is over, or none has begun. PostgreSQL calls that FATAL, in the language of its `lc_messages`: where that
 * is none that we read, its codes tell nearly as much.
 */
export const endsConnection = ({ severity, code = '', routine = '' }: Partial<pg.DatabaseError>): boolean =>
  severity !== undefined &&
  severity !== 'ERROR' &&
  (/^(FATAL|PANIC)$/.test(severity) || onlyFatal.test(code) || atBeginning.test(routine));

/** Whether `error` is PostgreSQL's, with that condition. */
export const hasCondition = (error: unknown, condition: keyof typeof sqlStates): boolean =>
  driverErrorOf(error)?.code === sqlStates[condition];

/**
 * Conditions of refusals by a constraint. Other errors name one as well, such as for a value that is too long for an
 * index.
 */
const integrityViolations = /^23/;

/** Whether `error` is PostgreSQL's refusal by the constraint or unique index of that name. */
export function violates(error: unknown, constraint: string): boolean {
  const { code = '', constraint: named } = driverErrorOf(error) ?? {};
  return named === constraint && integrityViolations.test(code);
}
