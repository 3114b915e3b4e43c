import { Type } from 'typebox';
import { durationListPattern, durationPattern } from './platform/duration.js';

const port = (fallback: number, description: string) =>
  Type.Integer({ default: fallback, minimum: 0, maximum: 65_535, description });
const duration = (fallback: string, description: string) =>
  Type.String({ default: fallback, pattern: durationPattern, description });
const text = (description: string, fallback: string) => Type.String({ description, default: fallback });
const optional = (description: string) => Type.Optional(Type.String({ description }));

/** Every setting that the processes read. The table in the README is checked against it. */
export const Settings = Type.Object({
  NODE_ENV: Type.String({
    enum: ['development', 'production', 'test'],
    default: 'development',
    description: 'In `production` nothing is embedded and missing settings stop the start.',
  }),
  PORT: port(3000, 'Port of the api.'),
  HOST: optional('Address that the api listens on. Development: IPv4 and IPv6 loopback; production: all.'),
  BASE_URL: optional('Public address and OpenID issuer. Development: `http://localhost:PORT`.'),
  ADMIN_APP_URL: optional(
    'Where administrators sign in; mails to them link to it, and its scripts call the APIs. Without one, `BASE_URL`.',
  ),
  DATA_DIR: text('Where the embedded parts keep their data, and `demo.json`.', '.data'),
  DATABASE_URL: optional("PostgreSQL, as the service's role."),
  DATABASE_OWNER_URL: optional('PostgreSQL, as the role that owns the schema (`migrate` only).'),
  DATABASE_POOL_SIZE: Type.Integer({
    default: 10,
    minimum: 1,
    maximum: 1000,
    description: 'Connections per pool; a process has two.',
  }),
  TEMPORAL_ADDRESS: optional('`host:port` of the Temporal frontend.'),
  TEMPORAL_NAMESPACE: text('Temporal namespace.', 'default'),
  TEMPORAL_API_KEY: optional('API key of Temporal Cloud; switches TLS on.'),
  TEMPORAL_TLS: Type.String({
    enum: ['on', 'off'],
    default: 'off',
    description: 'TLS to Temporal; each of the next three switches it on, too.',
  }),
  TEMPORAL_TLS_SERVER_CA_CERT_PATH: optional('File (PEM) of the only CA whose certificate Temporal may show.'),
  TEMPORAL_TLS_CLIENT_CERT_PATH: optional('File (PEM) of the certificate that the service shows to Temporal.'),
  TEMPORAL_TLS_CLIENT_KEY_PATH: optional('File (PEM) of its private key.'),
  TEMPORAL_CLI_PATH: optional('Temporal CLI for the embedded server.'),
  TEMPORAL_SERVER_PATH: optional('`temporal-server` for `npm run cluster`.'),
  TEMPORAL_SQL_TOOL_PATH: optional('`temporal-sql-tool` for `npm run cluster`, of the same version.'),
  TEMPORAL_UI_PORT: port(8233, 'Port of the embedded Temporal web UI.'),
  TEMPORAL_UI_URL: optional(
    'Address of a Temporal web UI, which the Portal links processes to. Development: the embedded one.',
  ),
  NODE_EXTRA_CA_CERTS: optional(
    'File (PEM) of further authorities for TLS to everything but Temporal. Node reads it itself.',
  ),
  SMTP_URL: optional('SMTP server, `smtp://` or `smtps://`.'),
  INBOX_PORT: port(1080, 'Port of the embedded inbox page.'),
  MAIL_FROM: text('Sender of every mail.', 'Gatehouse <no-reply@gatehouse.localhost>'),
  MASTER_KEYS: optional('`id:base64[,id:base64]`, 32 bytes each; the first one encrypts, the others still decrypt.'),
  SIGNING_KEY_BITS: Type.Integer({
    enum: [2048, 3072],
    default: 2048,
    description: 'Size of the next RSA key that signs tokens; those that are there stay as they are.',
  }),
  ADMIN_TOTP_DRIFT_STEPS: Type.Integer({
    enum: [0, 1],
    default: 1,
    description:
      "Steps of 30 seconds before and after the present one in which an administrator's code of an app counts.",
  }),
  BREACH_CHECK_URL: text('k-anonymity range API for passwords, or `off`.', 'https://api.pwnedpasswords.com/range/'),
  TURNSTILE_SITE_KEY: optional('Site key of Cloudflare Turnstile, for Environments that demand a captcha.'),
  TURNSTILE_SECRET_KEY: optional('Secret key of Cloudflare Turnstile.'),
  TURNSTILE_VERIFY_URL: text(
    'Where captcha tokens are verified.',
    'https://challenges.cloudflare.com/turnstile/v0/siteverify',
  ),
  WEBHOOK_ALLOW_PRIVATE_ADDRESSES: optional(
    'Non-public addresses that URLs of tenants may name: `false` (none; production), `true` (loopback; development), or networks.',
  ),
  OUTBOUND_ALLOWED_HOSTS: optional(
    'The only hosts that URLs of tenants may have the service call, as `hooks.example.com,*.example.org`. Without it: any.',
  ),
  TRUST_PROXY: text('Proxies whose `X-Forwarded-*` count: `false`, `true`, or networks.', 'false'),
  LOG_LEVEL: Type.String({
    enum: ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
    default: 'info',
    description: 'Least severe level that is logged.',
  }),
  RATE_LIMITS: Type.String({
    enum: ['on', 'off'],
    default: 'on',
    description: '`off` only outside production.',
  }),
  REQUESTS_PER_MINUTE_API_KEY: Type.Integer({
    default: 12_000,
    minimum: 1,
    description: 'General limit per API key and process.',
  }),
  REQUESTS_PER_MINUTE_JWT: Type.Integer({
    default: 1_200,
    minimum: 1,
    description: 'General limit per signed-in person and process.',
  }),
  REQUESTS_PER_MINUTE_ADDRESS: Type.Integer({
    default: 300,
    minimum: 1,
    description: 'General limit per unauthenticated address and process.',
  }),
  REQUEST_TIMEOUT: duration(
    '25s',
    'How long a request to the api may take before it is answered with 503, whatever it waits for. A statement has three fifths of it.',
  ),
  SHUTDOWN_DELAY: Type.Optional(
    Type.String({
      pattern: durationPattern,
      description:
        'How long the api goes on after it was asked to end, with a `/readyz` that says no, so that load balancers notice. ' +
        'Production: `5s`; development: `100ms`.',
    }),
  ),
  MAX_EVENT_LOOP_DELAY: duration(
    '200ms',
    'How late the api may be with its own work, on average, before it refuses part of what comes with 503; `0s` switches that off.',
  ),
  UV_THREADPOOL_SIZE: Type.Integer({
    default: 4,
    minimum: 1,
    maximum: 1024,
    description:
      "Threads of Node's pool, which Node reads itself. All but two of them hash passwords, no more than there are cores: on more " +
      'than two cores set it to two more than these.',
  }),
  OTEL_EXPORTER_OTLP_ENDPOINT: optional(
    'Where traces are sent by OTLP over HTTP, such as `http://localhost:4318`; without it there are none. This and the next ones ' +
      'are read by the OpenTelemetry SDK itself.',
  ),
  OTEL_EXPORTER_OTLP_PROTOCOL: Type.String({
    enum: ['http/protobuf', 'http/json'],
    default: 'http/protobuf',
    description: 'How traces are written.',
  }),
  OTEL_EXPORTER_OTLP_HEADERS: optional('Headers that are sent with them, as `name=value,name=value`.'),
  OTEL_SERVICE_NAME: optional(
    'What the process is called in traces. Without it, `gatehouse-api` and `gatehouse-worker`.',
  ),
  OTEL_TRACES_SAMPLER: Type.String({
    enum: [
      'always_on',
      'always_off',
      'traceidratio',
      'parentbased_always_on',
      'parentbased_always_off',
      'parentbased_traceidratio',
    ],
    default: 'parentbased_always_on',
    description: 'Which traces are kept.',
  }),
  OTEL_TRACES_SAMPLER_ARG: Type.Optional(
    Type.Number({
      minimum: 0,
      maximum: 1,
      description: 'Which share of them, for the samplers whose name ends in `traceidratio`.',
    }),
  ),
  METRICS_PORT: Type.Integer({
    default: 9464,
    minimum: 0,
    maximum: 65_534,
    description: 'Port of `/metrics`; 0 switches it off. The worker uses the next one.',
  }),
  REGISTRATION_TTL: duration('24h', 'Life of a registration link.'),
  REGISTRATION_REMINDER: duration('20h', 'When the one reminder of an open registration is sent.'),
  INTENT_TTL: duration('24h', 'Life of a parked account-creation intent.'),
  INVITE_TTL: duration('7d', 'Life of an invite and of its link; the reminder comes two days before its end.'),
  MFA_GRACE_REMINDERS: Type.String({
    default: '3d,1d',
    pattern: `${durationPattern.slice(0, -1)}(,${durationPattern.slice(1, -1)})*$`,
    description: 'How long before the end of a grace period for MFA its reminders are sent.',
  }),
  ROLE_ASSIGNMENT_NOTICES: Type.String({
    default: '7d,24h',
    pattern: `${durationPattern.slice(0, -1)}(,${durationPattern.slice(1, -1)})*$`,
    description: 'How long before the end of a role assignment it is told to be expiring.',
  }),
  DNS_SERVERS: optional(
    'Name servers, as `192.0.2.1` or `192.0.2.1:5353`, separated by commas: only these are asked, about claimed domains and the ' +
      'hosts of URLs that tenants give. Without them, those that are responsible for the domain, and the operating system’s.',
  ),
  DOMAIN_POLL_SCHEDULE: Type.String({
    default: '10x1m,10x5m,71x1h,108x6h',
    pattern: durationListPattern,
    description:
      'Pauses between looks for the record of a claimed domain, as `1m,5m` or `10x1m`; after the last one the claim fails.',
  }),
  DOMAIN_RECHECK_INTERVAL: duration('24h', 'Pause between two looks at a verified domain.'),
  DOMAIN_LAPSE_AFTER: duration(
    '72h',
    'For how long the record of a verified domain is missed before the claim lapses.',
  ),
  WEBHOOK_RETRY_SCHEDULE: Type.String({
    default: '5s,5m,30m,2h,5h,10h,14h,20h,24h',
    pattern: `${durationPattern.slice(0, -1)}(,${durationPattern.slice(1, -1)})*$`,
    description: 'Waits after the first, the second, … failed attempt of a webhook delivery, each varied by a tenth.',
  }),
  AUDIT_RETENTION_DAYS: Type.Integer({
    default: 365,
    minimum: 90,
    maximum: 36_500,
    description: 'How long the audit log and the change feed keep what happened; it goes by whole months.',
  }),
});
