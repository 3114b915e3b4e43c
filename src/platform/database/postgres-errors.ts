import pg from 'pg';

/** The SQLSTATEs that this code handles, under PostgreSQL's names (its documentation, Appendix A). */
const sqlStates = {
  foreign_key_violation: '23503',
  in_failed_sql_transaction: '25P02',
  invalid_password: '28P01',
  serialization_failure: '40001',
  deadlock_detected: '40P01',
  insufficient_privilege: '42501',
  undefined_table: '42P01',
  lock_not_available: '55P03',
} as const;

/** Returns PostgreSQL's error, which TypeORM may have wrapped; undefined for any other error. */
export const driverErrorOf = (error: unknown): pg.DatabaseError | undefined =>
  (error as { driverError?: pg.DatabaseError })?.driverError ?? (error instanceof pg.DatabaseError ? error : undefined);

/** Conditions with which PostgreSQL ends a connection, whatever it is doing. */
const onlyFatal = /^(08...|25P0[34]|28...|3D000|53300|57P0[1-5])$/;
/** The functions in PostgreSQL that check whether a connection may begin. */
const atBeginning = /^(InitPostgres|CheckMyDatabase)$/;

/**
 * Whether the error ends the connection, or kept it from beginning. PostgreSQL then reports the severity FATAL, in the
 * language of its `lc_messages`; in a language that we do not read, its codes say nearly as much.
 */
export const endsConnection = ({ severity, code = '', routine = '' }: Partial<pg.DatabaseError>): boolean =>
  severity !== undefined &&
  severity !== 'ERROR' &&
  (/^(FATAL|PANIC)$/.test(severity) || onlyFatal.test(code) || atBeginning.test(routine));

/**
 * Whether the error says that a prepared statement returns other types than before: somebody has changed a column
 * underneath it. A new connection prepares it again.
 */
export const isOutdatedPlan = ({ code, routine }: Partial<pg.DatabaseError>): boolean =>
  code === '0A000' && routine === 'RevalidateCachedQuery';

/**
 * Whether the error says that PostgreSQL's queue of notifications is full: a session of anybody's, on any database of
 * the server, listens and does not end its transaction. Until it does, commits that notify fail. The code alone is also
 * that of values that are too long for an index.
 */
export const isNotificationQueueFull = ({ code, routine }: Partial<pg.DatabaseError>): boolean =>
  code === '54000' && routine === 'PreCommit_Notify';

/** Whether `error` is PostgreSQL's, with this condition. */
export const hasCondition = (error: unknown, condition: keyof typeof sqlStates): boolean =>
  driverErrorOf(error)?.code === sqlStates[condition];

/**
 * Conditions for a violated constraint. Other errors name a constraint as well, such as for a value that is too long
 * for an index.
 */
const integrityViolations = /^23/;

/** Whether `error` is PostgreSQL's refusal by the constraint or unique index of that name. */
export function violates(error: unknown, constraint: string): boolean {
  const { code = '', constraint: named } = driverErrorOf(error) ?? {};
  return named === constraint && integrityViolations.test(code);
}
