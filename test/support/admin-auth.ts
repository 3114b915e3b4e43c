import { randomBytes } from 'node:crypto';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { v7 as uuidv7 } from 'uuid';
import { Application } from '../../entities/application.js';
import { PasswordLink } from '../../entities/password-link.js';
import { PendingRegistration } from '../../entities/pending-registration.js';
import { User } from '../../entities/user.js';
import { composeShared } from '../../src/compose-shared.js';
import { provisionAccount } from '../../src/domain/accounts/provisioning.js';
import { DomainError } from '../../src/domain/errors.js';
import { createIdempotentRequests } from '../../src/domain/idempotency.js';
import { createRefreshTokens } from '../../src/domain/oidc/tokens/refresh-tokens.js';
import { passwordLinkToken } from '../../src/domain/passwords/links.js';
import { createPasswords } from '../../src/domain/passwords/passwords.js';
import { registrationToken } from '../../src/domain/registration/link.js';
import { createSso } from '../../src/domain/sso-sign-in/sso.js';
import { createUsers, type UsersDeps } from '../../src/domain/users/users.js';
import { adminAuth } from '../../src/http/admin-auth/index.js';
import { buildApp } from '../../src/http/app.js';
import { createHttpMetrics } from '../../src/http/metrics.js';
import { createAdminPrincipals } from '../../src/http/principals/admin.js';
import { createRateLimits } from '../../src/http/surfaces/rate-limits.js';
import { hours } from '../../src/platform/clock.js';
import { createOutbound } from '../../src/platform/outbound/fetch.js';
import { cheapCodes } from './cheap-codes.js';
import { checkAgainstDocument } from './conformance.js';
import { newDatabase } from './database.js';

export interface Options {
  baseUrl?: string;
  rateLimits?: boolean;
  /** Requests a minute from callers whose credential has no limit of its own. */
  anonymousPerMinute?: number;
  /** Replaces the workflow, for tests of what happens while it is missing or fails. */
  confirmRegistration?: UsersDeps['processes']['confirmRegistration'];
  resumeAccountIntent?: UsersDeps['processes']['resumeAccountIntent'];
  onRehashError?: UsersDeps['onRehashError'];
}

/** Starts admin authentication on its own database and a clock that tests move; Temporal's work is done at once. */
export async function newAdminAuth({
  baseUrl = 'http://localhost:3000',
  rateLimits = false,
  anonymousPerMinute = 300,
  ...options
}: Options = {}) {
  const database = await newDatabase();
  const { db } = database;
  let movedMs = 0;
  let stoodAt: number | null = null;
  const now = () => new Date((stoodAt ?? Date.now()) + movedMs);
  const config = {
    production: false,
    masterKeys: [{ id: 'test', key: randomBytes(32) }],
    baseUrl,
    signingKeyBits: 2048,
    registration: { ttlMs: hours(24), reminderAfterMs: hours(20) },
    intentTtlMs: hours(24),
    mfaGraceReminders: [],
    outboundNetworks: [],
    dnsServers: [],
    domainSchedule: { pauses: [], recheckMs: hours(24), lapseAfterMs: hours(72) },
  };
  const { sealing, keys, registrations, accountIntents } = composeShared({ config, db, now });
  await keys.rotate(); // creates the first key
  const refreshTokens = createRefreshTokens({ db, sealing, now });
  const passwords = createPasswords({ breachUrl: null, hashing: cheapCodes });
  const processes = {
    confirmRegistration:
      options.confirmRegistration ??
      (({ pendingRegistrationId }: { pendingRegistrationId: string }) =>
        registrations.provision(pendingRegistrationId)),
    /** Does what `workflows/account-intent.ts` does. */
    resumeAccountIntent:
      options.resumeAccountIntent ??
      (async ({ intentId }: { intentId: string }, claimId: string) => {
        const claim = await accountIntents.claim(intentId, claimId);
        if (!claim.mine) throw new DomainError('account_intent.not_found');
        try {
          return await accountIntents.provision(intentId);
        } catch (error) {
          await accountIntents.fail(intentId, (error as DomainError).code);
          throw error;
        }
      }),
    discardAccountIntents: async () => {},
  };
  const deps = {
    db,
    keys,
    refreshTokens,
    sealing,
    passwords,
    onRehashError: options.onRehashError ?? (() => {}),
    registrations,
    accountIntents,
    processes,
    rateLimits,
    totpDriftSteps: 1,
    baseUrl,
    now,
  };
  const users = createUsers(deps);
  const sso = createSso({ ...deps, users, outbound: createOutbound({ allowedNetworks: [] }) });
  const perMinute = { apiKey: 12_000, jwt: 1_200, anonymous: anonymousPerMinute };
  const limits = createRateLimits({ enabled: rateLimits, db, perMinute });
  const idempotentRequests = createIdempotentRequests({ db, sealing });
  const admins = createAdminPrincipals({ tokens: users.tokens, portal: users.portal, limits });
  const app = await buildApp({
    baseUrl,
    logger: pino({ level: 'error' }, pino.destination(2)),
    trustProxy: true,
    health: { checks: {} },
    metrics: createHttpMetrics(new Registry()),
    surfaces: [
      async (scope) => {
        const adminOptions = { users, sso, admins, limits, idempotentRequests, baseUrl, now };
        await scope.register(adminAuth, { prefix: '/v1/auth', ...adminOptions });
      },
    ],
  });
  checkAgainstDocument(app, 'admin-auth');

  return {
    ...deps,
    database,
    app,
    users,
    admins,
    /** Moves the clock ahead. */
    pass: (ms: number) => {
      movedMs += ms;
    },
    /** Runs `work` while the clock stands still, however long it takes; only `pass` moves the clock meanwhile. */
    async whileTimeStands<T>(work: () => Promise<T>): Promise<T> {
      stoodAt = Date.now();
      return work().finally(() => {
        stoodAt = null;
      });
    },
    post: (url: string, payload?: object | string, headers: Record<string, string> = {}) =>
      app.inject({ method: 'POST', url: `/v1/auth${url}`, ...(payload !== undefined && { payload }), headers }),
    get: (url: string, headers: Record<string, string> = {}) =>
      app.inject({ method: 'GET', url: `/v1/auth${url}`, headers }),
    put: (url: string, payload: object, headers: Record<string, string> = {}) =>
      app.inject({ method: 'PUT', url: `/v1/auth${url}`, payload, headers }),
    delete: (url: string, headers: Record<string, string> = {}) =>
      app.inject({ method: 'DELETE', url: `/v1/auth${url}`, headers }),

    /** Creates a user with Accounts, each with as many Applications as asked for. */
    async addUser({
      password = 'violet tractor 19',
      accounts = [1],
    }: {
      password?: string | null;
      accounts?: number[];
    } = {}) {
      const user: User = {
        id: uuidv7(),
        email: `${randomBytes(6).toString('hex')}@example.com`,
        firstName: 'Ana',
        lastName: 'Brandt',
        passwordHash: password === null ? null : await passwords.hash(password),
        passwordChangedAt: now(),
        mfaResetAt: null,
        emailChangedAt: null,
        emailVerifiedAt: now(),
        createdAt: now(),
        updatedAt: now(),
      };
      const made = await db.transaction('system', async (tx) => {
        await tx.insert(User, user);
        const all = [];
        for (const [i, count] of accounts.entries()) {
          const names = { accountName: `Account ${i}`, applicationName: 'App 0' };
          const { account, application } = await provisionAccount(tx, { userId: user.id, ...names, now: now() });
          const applications = [application];
          if (count === 0) await tx.delete(Application, { id: applications.pop()?.id });
          for (let n = 1; n < count; n++) {
            const more = { ...application, id: uuidv7(), name: `App ${n}`, slug: `app-${n}` };
            await tx.insert(Application, more);
            applications.push(more);
          }
          all.push({ account, applications });
        }
        return all;
      });
      return { ...user, password: password ?? '', accounts: made };
    },

    /** Returns the token of the verification link that was mailed to an address. */
    async linkTokenFor(email: string) {
      const found = await db.transaction('system', (tx) => tx.findOneByOrFail(PendingRegistration, { email }));
      return registrationToken(sealing, found).token;
    },

    /** Returns the token of the newest password link that was created for a user. */
    async passwordTokenFor(userId: string) {
      const found = await db.transaction('system', (tx) =>
        tx.findOneOrFail(PasswordLink, { where: { userId }, order: { createdAt: 'desc', id: 'desc' } }),
      );
      return passwordLinkToken(sealing, found).token;
    },

    /** Inserts a session of a user, with or without a password, and returns what their signed-in browser sends. */
    async sessionOf(userId: string) {
      const user = await db.transaction('system', (tx) => tx.findOneByOrFail(User, { id: userId }));
      const browser = { ipAddress: null, userAgent: null };
      const proved = {
        amr: ['pwd'],
        acr: 'urn:gatehouse:aal1',
        ssoConnectionId: null,
        authenticatedAt: now(),
      } as const;
      const unbound = { accountId: null, applicationId: null, ...proved, amr: [...proved.amr], ...browser };
      const { passwordChangedAt, mfaResetAt, emailChangedAt } = user;
      const proof = { passwordChangedAt, mfaResetAt, emailChangedAt };
      return users.sessions.start({ ...unbound, userId, proof });
    },

    async close() {
      await app.close();
      await database.close();
    },
  };
}

export type AdminAuth = Awaited<ReturnType<typeof newAdminAuth>>;

type Answer = Awaited<ReturnType<AdminAuth['post']>>;

export const cookieOf = (answer: Answer, name = 'admin_refresh') =>
  answer.cookies.find((cookie) => cookie.name === name) as { name: string; value: string } & Record<string, unknown>;

/** Returns the Cookie header that a browser would send after an answer. */
export const cookieHeader = (answer: Answer) => ({
  cookie: answer.cookies.map(({ name, value }) => `${name}=${value}`).join('; '),
});

export const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
