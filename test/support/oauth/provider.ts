import { randomBytes } from 'node:crypto';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import type { EmailedCodePurpose } from '../../../entities/emailed-code.js';
import type { EnvironmentSettings } from '../../../entities/environment-settings.js';
import { createIdempotentRequests } from '../../../src/domain/idempotency.js';
import { createApiLogins } from '../../../src/domain/logins/api-logins.js';
import { digitsOf } from '../../../src/domain/logins/emailed-codes.js';
import { createLogins } from '../../../src/domain/logins/logins.js';
import { createMfaGraces } from '../../../src/domain/mfa/grace/grace.js';
import { createSigningKeys } from '../../../src/domain/oidc/keys.js';
import { createProvider } from '../../../src/domain/oidc/provider.js';
import { createRefreshTokens } from '../../../src/domain/oidc/tokens/refresh-tokens.js';
import { createPasswords } from '../../../src/domain/passwords/passwords.js';
import { tracedPasswords } from '../../../src/domain/passwords/traced.js';
import { createSso } from '../../../src/domain/sso-sign-in/sso.js';
import { buildApp } from '../../../src/http/app.js';
import { identityAuth } from '../../../src/http/identity-auth/index.js';
import { createHttpMetrics } from '../../../src/http/metrics.js';
import { oauth } from '../../../src/http/oauth/index.js';
import { sso as ssoPages } from '../../../src/http/sso/index.js';
import { createRateLimits } from '../../../src/http/surfaces/rate-limits.js';
import { wellKnown } from '../../../src/http/well-known.js';
import { createCaptcha } from '../../../src/platform/captcha.js';
import { createSealing, type Sealing } from '../../../src/platform/crypto/sealing.js';
import { createOutbound } from '../../../src/platform/outbound/fetch.js';
import { tracedCaptcha } from '../../../src/platform/tracing/traced-calls.js';
import { cheapCodes } from '../cheap-codes.js';
import { checkAgainstDocument } from '../conformance.js';
import { newDatabase, openTestDb, rowsAsOwner, type TestDatabase } from '../database.js';
import { verifyPassword } from '../password-hashing.js';
import { patience } from '../patience.js';
import { Browser } from './browser.js';
import { newEnvironment } from './environment.js';

export interface TestProviderOptions {
  baseUrl?: string;
  rateLimits?: boolean;
  /** The limit of requests a minute for an end user's token. */
  jwtPerMinute?: number;
  /** Networks that the provider may fetch keys from. */
  allowedNetworks?: readonly string[];
  /** Where captchas are verified; null means nowhere: a required captcha then refuses everybody. */
  captchaUrl?: string | null;
  /** Runs as another process of the same service, with the database and keys of this one. */
  beside?: { database: TestDatabase; sealing: Sealing };
  /** What its clock shows at first; an external provider uses the real time. */
  startsAt?: Date;
}

/** Starts the provider on its own database, behind the real HTTP layer, with a clock that the test moves. */
export async function newProvider({
  baseUrl = 'http://localhost:3000',
  rateLimits = false,
  jwtPerMinute = 100_000,
  allowedNetworks,
  captchaUrl = null,
  beside,
  startsAt = new Date('2026-03-01T12:00:00Z'),
}: TestProviderOptions = {}) {
  const database = beside ? await sameDatabase(beside.database) : await newDatabase({ poolSize: 10 });
  const { db } = database;
  let time = startsAt.getTime();
  const now = () => new Date(time);
  const sealing = beside?.sealing ?? createSealing([{ id: 'test', key: randomBytes(32) }]);
  const keys = createSigningKeys({ db, sealing, issuer: baseUrl, now });
  const refreshTokens = createRefreshTokens({ db, sealing, now });
  const faults: unknown[] = [];
  const passwords = tracedPasswords(createPasswords({ breachUrl: null, onOutage: () => {}, hashing: cheapCodes }));
  const logins = createLogins({
    db,
    sealing,
    passwords,
    graces: createMfaGraces({ db, now, reminders: [] }),
    rateLimits,
    baseUrl,
    onRehashError: (error) => faults.push(error),
    now,
  });
  const outbound = createOutbound({ allowedNetworks, withinMs: patience });
  const provider = createProvider({ db, keys, refreshTokens, outbound, baseUrl, now });
  const sso = createSso({ db, sealing, outbound, passwords, users: { signIn: nobody }, baseUrl, rateLimits, now });
  const captchaKeys = { siteKey: captchaUrl && 'site-key', secretKey: captchaUrl && 'secret-key' };
  const captcha = tracedCaptcha(createCaptcha({ ...captchaKeys, verifyUrl: captchaUrl ?? '' }));
  const api = createApiLogins({ db, sealing, passwords: { verify: verifyPassword }, logins, provider, now });
  const limits = createRateLimits({
    enabled: rateLimits,
    db,
    perMinute: { apiKey: 100_000, jwt: jwtPerMinute, anonymous: 100_000 },
  });
  const answeredTwice: string[] = [];
  const write = (line: string) => void (line.includes('already sent') && answeredTwice.push(line));
  const app = await buildApp({
    baseUrl,
    logger: pino({ level: 'warn' }, { write }),
    trustProxy: false,
    health: { checks: {} },
    metrics: createHttpMetrics(new Registry()),
    surfaces: [
      async (surface) => void (await surface.register(oauth, { provider, logins, sso, limits, captcha })),
      async (surface) => void (await surface.register(ssoPages, { provider, logins, sso, limits, captcha })),
      async (surface) => void (await surface.register(wellKnown, { baseUrl, keys })),
      async (surface) => {
        const idempotentRequests = createIdempotentRequests({ db, sealing });
        const options = { provider, logins, api, leaving: sso.leaving, captcha, limits, idempotentRequests };
        await surface.register(identityAuth, { prefix: '/v1/identity/auth', ...options });
      },
    ],
  });
  checkAgainstDocument(app, 'oauth');

  const query = <Row>(text: string, values: unknown[] = []) => rowsAsOwner<Row>(database.ownerUrl, text, values);

  return {
    app,
    baseUrl,
    database,
    db,
    keys,
    provider,
    logins,
    sealing,
    sso,
    refreshTokens,
    faults,
    now,
    query,
    /** Returns the digits of the newest code mailed for a purpose, as the mail will contain them. */
    async mailedCode(purpose: EmailedCodePurpose): Promise<string> {
      const [row] = await query<{ id: string; keyId: string }>(
        'select id, key_id as "keyId" from emailed_codes where purpose = $1 order by created_at desc, id desc limit 1',
        [purpose],
      );
      if (!row) throw new Error(`no code was mailed for ${purpose}`);
      return digitsOf(sealing, row).digits;
    },
    /** Moves the clock. */
    wait: (ms: number) => {
      time += ms;
    },
    newEnvironment: (settings: Partial<EnvironmentSettings> = {}) => newEnvironment(db, now(), settings),
    browser: (remoteAddress?: string) => new Browser(app, remoteAddress),
    events: (action: string) =>
      query<{ action: string; outcome: string; resource_id: string; account_id: string }>(
        'select * from events where action = $1',
        [action],
      ),
    close: async () => {
      await app.close();
      await outbound.close();
      await database.close();
      // Awaiting a reply yields undefined: a handler that acts on this result answers a second time.
      if (answeredTwice.length > 0) throw new Error(`requests were answered twice:\n${answeredTwice.join('')}`);
    },
  };
}

async function sameDatabase({ url, ownerUrl }: TestDatabase): Promise<TestDatabase> {
  const db = await openTestDb(url, 10);
  return { url, ownerUrl, db, close: () => db.close() };
}

export type TestProvider = Awaited<ReturnType<typeof newProvider>>;
/** There are no administrators here; tests of administrators start the whole api. */
const nobody = { signInByProvider: () => Promise.reject(new Error('there are no administrators here')) };
