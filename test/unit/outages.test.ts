import pg from 'pg';
import { DomainError } from '../../src/domain/errors.js';
import { runInContext } from '../../src/platform/context.js';
import { isRefusal } from '../../src/platform/database/run-statement.js';
import { isOutage, noticingLoss } from '../../src/platform/outages.js';

const coded = (code: string) => Object.assign(new Error('no'), { code });

test.each([
  ...['EHOSTUNREACH', 'ENETUNREACH', 'EHOSTDOWN', 'ECONNABORTED', '25P04', '57P05'],
  ...['ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED', 'ERR_SSL_TLSV1_ALERT_UNKNOWN_CA', 'EPROTO', 'EMFILE'],
  ...['57P01', '53300', '25006', 'ECONNREFUSED', '28P01', '28000', 'CERT_HAS_EXPIRED', 'ERR_TLS_CERT_ALTNAME_INVALID'],
  ...['SELF_SIGNED_CERT_IN_CHAIN', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
  ...['INVALID_PURPOSE', 'INVALID_CA', 'HOSTNAME_MISMATCH', 'CRL_HAS_EXPIRED', 'UNSPECIFIED'],
])('%s means that PostgreSQL cannot serve for now', (code) => expect(isOutage(coded(code))).toBe(true));

test.each(['3D000', '55000', '42501'])('%s on connecting is an outage, in a statement it is not', (code) => {
  expect(isOutage(Object.assign(coded(code), { severity: 'FATAL' }))).toBe(true);
  expect(isOutage(Object.assign(coded(code), { severity: 'ERROR' }))).toBe(false);
});

test.each([
  ['57P01', 'FATAL', 'ProcessInterrupts', true],
  ['57P01', 'ВАЖНО', 'ProcessInterrupts', true],
  ['42501', 'ВАЖНО', 'CheckMyDatabase', true],
  ['3D000', '致命错误', 'InitPostgres', true],
  ['23505', 'FEHLER', '_bt_check_unique', false],
  ['42501', 'ОШИБКА', 'aclcheck_error', false],
])('a localized error (%s %s from %s) ends the connection: %s', (code, severity, routine, ends) => {
  const error = Object.assign(new pg.DatabaseError('no', 0, 'error'), { code, severity, routine });
  expect([isOutage(error), !isRefusal(error)]).toEqual([ends, ends]);
});

test('a full queue of notifications is an outage, a value that is too long for an index is none', () => {
  const limit = (routine: string) => Object.assign(coded('54000'), { severity: 'ERROR', routine });
  expect([isOutage(limit('PreCommit_Notify')), isOutage(limit('index_form_tuple_context'))]).toEqual([true, false]);
});

test('only our refusal of a connection is an outage of PostgreSQL, not what else the service refuses for now', () => {
  expect(isOutage(new DomainError('service.unavailable', { retryAfter: 1 }))).toBe(false);
});

test.each(['23505', '22P02', '42P01', 'ERR_INVALID_ARG_TYPE', ''])('%s is no outage', (code) =>
  expect(isOutage(coded(code))).toBe(false),
);

/** Returns whether a request considers a commit's outcome unknown after this error. */
async function isUnknownAfter(error: object): Promise<boolean> {
  const outcome = { isUnknown: false };
  const commit = () => noticingLoss(() => Promise.reject(Object.assign(new Error('no'), error)));
  await runInContext({ outcome } as never, commit).catch(() => undefined);
  return outcome.isUnknown;
}

test.each([
  { code: 'ECONNRESET' },
  { code: '08P01', severity: 'FATAL' }, // from PgBouncer: its connection to PostgreSQL broke
  { code: '57P02', severity: 'FATAL' },
  { code: 'ETIMEDOUT', syscall: 'read' },
  { code: 'EPROTO', syscall: 'write' },
  { message: 'Query read timeout' },
  { message: 'Connection terminated unexpectedly' },
])('after %j a commit may have happened', async (error) => expect(await isUnknownAfter(error)).toBe(true));

test.each([
  { code: '40001', severity: 'ERROR' },
  { code: '57P01', severity: 'FATAL' },
  { code: '53300', severity: 'FATAL' },
  { code: 'ETIMEDOUT', syscall: 'connect' },
  { code: 'ECONNREFUSED', syscall: 'connect' },
  { message: 'Connection terminated due to connection timeout' },
])('after %j a commit has not happened', async (error) => expect(await isUnknownAfter(error)).toBe(false));
