import { ConfigError, loadConfig, type ProcessName } from '../../src/config.js';

/** The error for an impossible value: the setting's name, what it must be, and never a secret. */

const complete = {
  NODE_ENV: 'production',
  BASE_URL: 'https://id.example.com',
  DATABASE_URL: 'postgres://gatehouse_service:x@db.example.com/gatehouse',
  DATABASE_OWNER_URL: 'postgres://gatehouse:x@db.example.com/gatehouse',
  TEMPORAL_ADDRESS: 'localhost:7233',
  SMTP_URL: 'smtp://mailer:x@mail.example.com:587',
  MASTER_KEYS: `test:${Buffer.alloc(32, 1).toString('base64')}`,
};

function told(settings: Record<string, string>, process: ProcessName = 'api'): string[] {
  try {
    loadConfig(process, { ...complete, ...settings });
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.lines;
  }
}

const duration = 'must be a whole number with a unit, such as 500ms, 30s, 5m, 24h or 7d';
const durations = 'must be durations such as 30s, 24h or 7d, separated by commas without blanks';
const file = (name: string) => `must have the path of a file in PEM as ${name}`;

const oneHost = 'must name one host: of several, none is tried after another';
test.each([
  ['NODE_ENV', 'prod', 'must be development, production or test'],
  ['LOG_LEVEL', 'INFO', 'must be fatal, error, warn, info, debug, trace or silent'],
  ['SIGNING_KEY_BITS', '4096', 'must be 2048 or 3072'],
  ['TEMPORAL_TLS', 'true', 'must be on or off'],
  ['REQUEST_TIMEOUT', '25', duration],
  ['REQUEST_TIMEOUT', '0s', 'must be 1s at least'],
  ['REQUEST_TIMEOUT', '25d', 'must be 10m at most'],
  ['INVITE_TTL', '0d', 'must be 1s at least'],
  ['DOMAIN_RECHECK_INTERVAL', '0s', 'must be 1s at least'],
  ['REGISTRATION_REMINDER', '2d', 'must be less than REGISTRATION_TTL, which is 24h'],
  ['WEBHOOK_RETRY_SCHEDULE', '5s,0s', 'must have no duration of zero'],
  ['DOMAIN_POLL_SCHEDULE', '10x0m,1h', 'must have no duration of zero'],
  ['MFA_GRACE_REMINDERS', '0d', 'must have no duration of zero'],
  ['ROLE_ASSIGNMENT_NOTICES', '7d,0ms', 'must have no duration of zero'],
  ['MFA_GRACE_REMINDERS', '3d, 1d', durations],
  ['DOMAIN_POLL_SCHEDULE', '10x', durations],
  ['AUDIT_RETENTION_DAYS', '99999', 'must be <= 36500'],
  ['DATABASE_POOL_SIZE', '100000', 'must be <= 1000'],
  ['METRICS_PORT', '65535', 'must be <= 65534'],
  ['METRICS_PORT', '3000', 'must be another one than PORT'],
  ['HOST', 'http://0.0.0.0', 'must be an address or a name'],
  ['BASE_URL', 'https://ana:secret@id.example.com', 'must be without user and password'],
  ['ADMIN_APP_URL', 'https://ana:secret@app.example.com', 'must be without user and password'],
  ['BREACH_CHECK_URL', 'none', 'must be a URL or off'],
  ['BREACH_CHECK_URL', 'ftp://mirror.example.com/', 'must start with http:// or https://'],
  ['BREACH_CHECK_URL', 'https://ana:secret@mirror.example.com/', 'must be without user and password'],
  ['TURNSTILE_VERIFY_URL', 'https://ana:secret@mirror.example.com/', 'must be without user and password'],
  ['TEMPORAL_ADDRESS', 'temporal:99999', 'must be host:port'],
  ['TEMPORAL_ADDRESS', 'temporal:0', 'must be host:port'],
  ['MAIL_FROM', 'Gatehouse', 'must be an address, or Name <address>'],
  ['SMTP_URL', 'smtp://', 'must name a host'],
  ['SMTP_URL', 'smtp://mailer:100%secret@mail.example.com', 'must have % in a password as %25'],
  ['DATABASE_URL', 'postgres:///gatehouse', 'must name a host'],
  ['DATABASE_URL', 'postgres://a:secret@one.example.com,two.example.com/g', oneHost],
  ['DATABASE_URL', 'postgres://a:secret@one.example.com:5432,two.example.com:5433/g', oneHost],
  ['DATABASE_URL', 'postgres:///g?host=one.example.com,two.example.com', oneHost],
  [
    'DATABASE_URL',
    'postgres://a:secret@db.example.com/g?target_session_attrs=read-write',
    'must be without target_session_attrs: there is one host to choose',
  ],
  ['DATABASE_URL', 'postgres://a:100%secret@db.example.com/g', 'must have % in a password as %25'],
  ['DATABASE_URL', 'postgres://a:secret@db.example.com/g?sslrootcert=/not/there', file('sslrootcert')],
  [
    'DATABASE_URL',
    'postgres://a:secret@db.example.com/g?sslmode=on',
    'must have an sslmode of disable, prefer, require, verify-ca, verify-full, no-verify',
  ],
])('%s=%s is refused with what it must be', (name, value, words) => {
  const lines = told({ [name]: value });
  expect(lines).toEqual([`${name} ${words}`]);
  expect(lines.join()).not.toContain('secret');
});

test('a reminder that was in time is refused once its link expires before it', () => {
  expect(told({ REGISTRATION_TTL: '20h' })).toEqual([
    'REGISTRATION_REMINDER must be less than REGISTRATION_TTL, which is 20h',
  ]);
  expect(told({ REGISTRATION_TTL: '20h', REGISTRATION_REMINDER: '19h' })).toEqual([]);
});

test("the owner's URL leads to the service’s database, though it may do so by another way", () => {
  expect(told({ DATABASE_OWNER_URL: 'postgres://gatehouse:x@db.example.com/other' }, 'migrate')).toEqual([
    'DATABASE_OWNER_URL must name the database that DATABASE_URL names',
  ]);
  expect(told({ DATABASE_OWNER_URL: 'postgres://gatehouse:x@primary.example.com/gatehouse_1' }, 'migrate')).toEqual([]);
});

test('valid values are accepted: sockets, encoded percent signs, TLS with a file, blanks as nothing', () => {
  expect(
    told({
      DATABASE_URL: 'postgres:///g?host=/var/run/postgresql',
      SMTP_URL: 'smtps://user%40example.com:p%3A%2F@mail.example.com',
      REQUEST_TIMEOUT: '10m',
      BREACH_CHECK_URL: 'off',
      HOST: '::',
      PORT: ' ',
      METRICS_PORT: '0',
    }),
  ).toEqual([]);
  expect(loadConfig('api', { ...complete, PORT: ' ' }).listen.port).toBe(3000);
});

test('a setting of blanks alone is a missing one', () => {
  expect(told({ MASTER_KEYS: ' ' })).toEqual(['MASTER_KEYS is required by api']);
  expect(told({ DATABASE_OWNER_URL: ' ' }, 'migrate')).toEqual(['DATABASE_OWNER_URL is required by migrate']);
});

test('a database is reached over verified TLS, in every mode that requires anything of it', () => {
  const at = 'postgres://gatehouse_service:x@db.example.com/gatehouse';
  const urlOf = (query: string) =>
    loadConfig('api', { ...complete, DATABASE_URL: `${at}${query}` }).database.url?.slice(at.length);
  for (const mode of ['prefer', 'require', 'verify-ca', 'verify-full']) {
    expect(urlOf(`?sslmode=${mode}`)).toBe('?sslmode=verify-full');
    expect(urlOf(`?application_name=x&sslmode=${mode}&a=b`)).toBe('?application_name=x&sslmode=verify-full&a=b');
  }
  for (const asWritten of ['', '?sslmode=disable', '?sslmode=no-verify', '?sslmode=require&uselibpqcompat=true'])
    expect(urlOf(asWritten)).toBe(asWritten);
});
