import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { envSchema } from 'env-schema';
import type { Static } from 'typebox';
import { parseMasterKeys } from './platform/crypto/master-keys.js';
import { parseServers } from './platform/dns.js';
import {
  assertSpan,
  assertWithin,
  durationListWords,
  durationPattern,
  durationWords,
  parseDuration,
  parseDurations,
} from './platform/duration.js';
import { assertMailbox } from './platform/mail/addresses.js';
import { loopback } from './platform/outbound/addresses.js';
import { parseHosts } from './platform/outbound/hosts.js';
import { projectRoot } from './platform/root.js';
import {
  assertHost,
  assertHostAndPort,
  assertPair,
  assertSafeOrigin,
  assertSameDatabase,
  assertServerUrl,
  callableUrlOf,
  flagOrNetworks,
  originOf,
  pemOf,
  proxiesOf,
  schemesOf,
  urlOf,
  withoutUser,
  withStrictTls,
} from './platform/setting-values.js';
import { tlsTo } from './platform/temporal-connection.js';
import type { TracesConfig } from './platform/tracing/spans.js';
import { Settings } from './settings.js';

export { Settings };

/** Tells operators what to correct: one line for each setting that is missing or unreadable. */
export class ConfigError extends Error {
  constructor(readonly lines: string[]) {
    super(lines.join('\n'));
  }
}

export type ProcessName =
  | 'api'
  | 'worker'
  | 'migrate'
  | 'reencrypt'
  | 'reset-mfa'
  | 'retry-account'
  | 'make-owner'
  | 'dev';

const needed: Record<ProcessName, (keyof Static<typeof Settings>)[]> = {
  api: ['DATABASE_URL', 'TEMPORAL_ADDRESS', 'MASTER_KEYS'],
  worker: ['DATABASE_URL', 'TEMPORAL_ADDRESS', 'SMTP_URL', 'MASTER_KEYS'],
  migrate: ['DATABASE_OWNER_URL', 'DATABASE_URL'],
  reencrypt: ['DATABASE_URL', 'MASTER_KEYS'],
  'reset-mfa': ['DATABASE_URL'],
  'retry-account': ['DATABASE_URL'],
  'make-owner': ['DATABASE_URL'],
  dev: [],
};

const tlsFiles = [
  'TEMPORAL_TLS_SERVER_CA_CERT_PATH',
  'TEMPORAL_TLS_CLIENT_CERT_PATH',
  'TEMPORAL_TLS_CLIENT_KEY_PATH',
] as const;

const durationLists = [
  'DOMAIN_POLL_SCHEDULE',
  'WEBHOOK_RETRY_SCHEDULE',
  'MFA_GRACE_REMINDERS',
  'ROLE_ASSIGNMENT_NOTICES',
] as const;

/** Zero makes no sense for these: links would expire before they are sent, and checks would follow without a pause. */
const neverZero = [
  'REGISTRATION_TTL',
  'INTENT_TTL',
  'INVITE_TTL',
  'DOMAIN_RECHECK_INTERVAL',
  'DOMAIN_LAPSE_AFTER',
] as const;

/**
 * Reads the environment once. Empty and blank values count as absent.
 * @throws ConfigError with one line for each missing or unreadable setting
 */
export function loadConfig(process: ProcessName, data: NodeJS.ProcessEnv = globalThis.process.env) {
  const present = Object.fromEntries(Object.entries(data).filter(([, value]) => value?.trim()));
  const lines: string[] = [];
  const env = readSettings(present, lines);
  const production = present.NODE_ENV === 'production';
  const required = new Set(needed[process]);
  if (production && (process === 'api' || process === 'worker')) required.add('BASE_URL');
  for (const name of required) if (present[name] === undefined) lines.push(`${name} is required by ${process}`);
  if (production && env.RATE_LIMITS === 'off') lines.push('RATE_LIMITS cannot be off in production');
  if (production && process === 'dev') lines.push('npm start is for development; run start:api and start:worker');

  const check = <T>(name: string, read: () => T): T => {
    try {
      return read();
    } catch (error) {
      lines.push(`${name} ${(error as Error).message}`);
      return undefined as T; // never used: the lines are thrown below
    }
  };
  const baseUrl = check('BASE_URL', () => originOf(env.BASE_URL ?? `http://localhost:${env.PORT}`));
  if (production && baseUrl) check('BASE_URL', () => assertSafeOrigin(baseUrl));
  const adminAppUrl = env.ADMIN_APP_URL;
  if (adminAppUrl)
    check('ADMIN_APP_URL', () => {
      const { origin } = withoutUser(urlOf(adminAppUrl, ['http', 'https']));
      if (production) assertSafeOrigin(origin);
    });
  const masterKeys = check('MASTER_KEYS', () => (env.MASTER_KEYS ? parseMasterKeys(env.MASTER_KEYS) : []));
  const breachUrl = check('BREACH_CHECK_URL', () =>
    env.BREACH_CHECK_URL === 'off' ? null : callableUrlOf(env.BREACH_CHECK_URL, 'off'),
  );
  check('TURNSTILE_VERIFY_URL', () => callableUrlOf(env.TURNSTILE_VERIFY_URL));
  if ((env.TURNSTILE_SITE_KEY === undefined) !== (env.TURNSTILE_SECRET_KEY === undefined)) {
    lines.push('TURNSTILE_SITE_KEY and TURNSTILE_SECRET_KEY are needed together');
  }
  for (const [name, schemes] of Object.entries(schemesOf) as [keyof typeof schemesOf, string[]][]) {
    if (env[name]) check(name, () => assertServerUrl(env[name] as string, schemes));
  }
  if (process === 'migrate' || process === 'dev')
    check('DATABASE_OWNER_URL', () => assertSameDatabase(env.DATABASE_OWNER_URL, env.DATABASE_URL));
  const tracesUrl = env.OTEL_EXPORTER_OTLP_ENDPOINT;
  if (tracesUrl) check('OTEL_EXPORTER_OTLP_ENDPOINT', () => urlOf(tracesUrl, ['http', 'https']));
  const temporalUiUrl = env.TEMPORAL_UI_URL;
  if (temporalUiUrl) check('TEMPORAL_UI_URL', () => urlOf(temporalUiUrl, ['http', 'https']));
  const [serverCa, clientCert, clientKey] = tlsFiles.map((name) => check(name, () => pemOf(env[name])));
  if ((env.TEMPORAL_TLS_CLIENT_CERT_PATH === undefined) !== (env.TEMPORAL_TLS_CLIENT_KEY_PATH === undefined)) {
    lines.push('TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH are needed together');
  }
  check('TEMPORAL_TLS_CLIENT_KEY_PATH', () => assertPair(clientCert, clientKey));
  check('NODE_EXTRA_CA_CERTS', () => pemOf(env.NODE_EXTRA_CA_CERTS)); // Node itself only ignores a wrong file
  check('TEMPORAL_ADDRESS', () => env.TEMPORAL_ADDRESS && assertHostAndPort(env.TEMPORAL_ADDRESS));
  check('MAIL_FROM', () => assertMailbox(env.MAIL_FROM));
  check('HOST', () => env.HOST && assertHost(env.HOST));
  if (process === 'api' && env.METRICS_PORT !== 0 && env.METRICS_PORT === env.PORT)
    lines.push('METRICS_PORT must be another one than PORT');
  const trustProxy = check('TRUST_PROXY', () => proxiesOf(env.TRUST_PROXY));
  const privateAddresses = env.WEBHOOK_ALLOW_PRIVATE_ADDRESSES ?? String(!production);
  const outbound = check('WEBHOOK_ALLOW_PRIVATE_ADDRESSES', () => flagOrNetworks(privateAddresses));
  const outboundHosts = check('OUTBOUND_ALLOWED_HOSTS', () =>
    env.OUTBOUND_ALLOWED_HOSTS ? parseHosts(env.OUTBOUND_ALLOWED_HOSTS) : null,
  );
  const dnsServers = check('DNS_SERVERS', () => (env.DNS_SERVERS ? parseServers(env.DNS_SERVERS) : []));
  const [pauses, retries, graceReminders, notices] = durationLists.map((name) =>
    check(name, () => parseDurations(env[name])),
  ) as [number[], number[], number[], number[]];
  for (const name of neverZero) check(name, () => assertSpan(env[name], { min: '1s' }));
  check('REGISTRATION_REMINDER', () =>
    assertWithin(env.REGISTRATION_REMINDER, { name: 'REGISTRATION_TTL', text: env.REGISTRATION_TTL }),
  );
  check('REQUEST_TIMEOUT', () => assertSpan(env.REQUEST_TIMEOUT, { min: '1s', max: '10m' }));
  const shutdownDelay = env.SHUTDOWN_DELAY ?? (production ? '5s' : '100ms');
  check('SHUTDOWN_DELAY', () => assertSpan(shutdownDelay, { min: '0s', max: '5m' }));
  if (lines.length > 0) throw new ConfigError(lines);

  return {
    production,
    baseUrl,
    adminAppUrl: adminAppUrl ?? baseUrl,
    listen: { port: env.PORT, host: env.HOST ?? (production ? '::' : 'localhost') },
    dataDir: resolve(projectRoot, env.DATA_DIR),
    demoFile: join(resolve(projectRoot, env.DATA_DIR), 'demo.json'),
    database: {
      url: withStrictTls(env.DATABASE_URL),
      ownerUrl: withStrictTls(env.DATABASE_OWNER_URL),
      poolSize: env.DATABASE_POOL_SIZE,
    },
    temporal: {
      address: env.TEMPORAL_ADDRESS ?? null,
      namespace: env.TEMPORAL_NAMESPACE,
      apiKey: env.TEMPORAL_API_KEY ?? null,
      tls: tlsTo({ isOn: env.TEMPORAL_TLS === 'on' || !!env.TEMPORAL_API_KEY, serverCa, clientCert, clientKey }),
      cliPath: env.TEMPORAL_CLI_PATH ?? null,
      programs: { server: env.TEMPORAL_SERVER_PATH ?? null, sqlTool: env.TEMPORAL_SQL_TOOL_PATH ?? null },
      uiPort: env.TEMPORAL_UI_PORT,
      uiUrl: env.TEMPORAL_UI_URL?.replace(/\/+$/, '') ?? null,
    },
    mail: { smtpUrl: env.SMTP_URL ?? null, from: env.MAIL_FROM, inboxPort: env.INBOX_PORT },
    masterKeys,
    signingKeyBits: env.SIGNING_KEY_BITS,
    adminTotpDriftSteps: env.ADMIN_TOTP_DRIFT_STEPS,
    breachUrl,
    turnstile: {
      siteKey: env.TURNSTILE_SITE_KEY ?? null,
      secretKey: env.TURNSTILE_SECRET_KEY ?? null,
      verifyUrl: env.TURNSTILE_VERIFY_URL,
    },
    outboundNetworks: typeof outbound === 'boolean' ? (outbound ? [...loopback] : []) : outbound,
    outboundHosts,
    trustProxy,
    logLevel: env.LOG_LEVEL,
    rateLimits: env.RATE_LIMITS === 'on',
    requestsPerMinute: {
      apiKey: env.REQUESTS_PER_MINUTE_API_KEY,
      jwt: env.REQUESTS_PER_MINUTE_JWT,
      anonymous: env.REQUESTS_PER_MINUTE_ADDRESS,
    },
    metricsPort: env.METRICS_PORT,
    traces: tracesUrl ? { protocol: env.OTEL_EXPORTER_OTLP_PROTOCOL as TracesConfig['protocol'] } : null,
    requestTimeoutMs: parseDuration(env.REQUEST_TIMEOUT),
    shutdownDelayMs: parseDuration(shutdownDelay),
    overload: {
      maxLoopDelayMs: parseDuration(env.MAX_EVENT_LOOP_DELAY),
      maxWaitingForDatabase: 20 * env.DATABASE_POOL_SIZE,
    },
    hashing: hashingWith(env.UV_THREADPOOL_SIZE),
    registration: {
      ttlMs: parseDuration(env.REGISTRATION_TTL),
      reminderAfterMs: parseDuration(env.REGISTRATION_REMINDER),
    },
    intentTtlMs: parseDuration(env.INTENT_TTL),
    inviteTtlMs: parseDuration(env.INVITE_TTL),
    dnsServers,
    domainSchedule: {
      pauses,
      recheckMs: parseDuration(env.DOMAIN_RECHECK_INTERVAL),
      lapseAfterMs: parseDuration(env.DOMAIN_LAPSE_AFTER),
    },
    mfaGraceReminders: graceReminders,
    auditRetentionDays: env.AUDIT_RETENTION_DAYS,
    roleAssignmentNotices: notices,
    webhookRetrySchedule: retries,
  } as const;
}

export type Config = ReturnType<typeof loadConfig>;

/**
 * Returns how many passwords are hashed at once, which leaves two threads of the pool free for signatures, and how many
 * may wait. A hash takes some 25 ms, so nobody waits for seconds.
 */
function hashingWith(threads: number) {
  const atOnce = Math.max(1, Math.min(availableParallelism(), threads - 2));
  return { atOnce, maxWaiting: 50 * atOnce };
}

interface Unreadable {
  instancePath: string;
  keyword: string;
  params: { allowedValues?: unknown[]; pattern?: string };
  message?: string;
}

/** Returns words that help an operator: the values of an enum, and no regular expression for a duration. */
function whatItMustBe({ keyword, params, message = 'is unreadable' }: Unreadable): string {
  if (keyword === 'enum') return `must be ${params.allowedValues?.join(', ').replace(/, (?=[^ ]+$)/, ' or ')}`;
  if (keyword !== 'pattern') return message;
  return params.pattern === durationPattern ? durationWords : durationListWords;
}

function readSettings(present: NodeJS.ProcessEnv, lines: string[]) {
  for (;;) {
    try {
      return envSchema<Static<typeof Settings>>({ schema: Settings, data: present, dotenv: false, env: false });
    } catch (error) {
      const [first] = (error as { errors?: Unreadable[] }).errors ?? [];
      const name = first?.instancePath.slice(1);
      if (!first || !name || present[name] === undefined) throw error;
      lines.push(`${name} ${whatItMustBe(first)}`);
      delete present[name]; // and go on, so that all of them are named at once
    }
  }
}
