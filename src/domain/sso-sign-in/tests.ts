import { type EntityManager, IsNull, MoreThan } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { SsoConnection } from '../../../entities/sso-connection.js';
import { SsoTest } from '../../../entities/sso-test.js';
import { after, type Clock, hours } from '../../platform/clock.js';
import { hashSecret, newSecret } from '../../platform/crypto/one-time-secret.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import type { Db } from '../../platform/database/db.js';
import type { Caller } from '../caller.js';
import { DomainError } from '../errors.js';
import { recordConnectionEvent } from '../sso-connections/events.js';
import { type ConnectionAt, findConnection, lockConnection } from '../sso-connections/find.js';
import { assertComplete } from '../sso-connections/settings.js';
import { SsoRefused } from '../sso-protocols/assertion.js';
import { readOutcome, type SsoOutcome, writeOutcome } from './outcome.js';
import type { AnsweredSsoRequest } from './requests.js';
import type { SsoSignIn, StartedSso } from './sign-in.js';
import { reportOf, type SsoTestReport, testLinkLife } from './test-report.js';

/** The life of a report from the creation of the link. What the provider sent is not kept longer. */
const reportLife = hours(1);

/** A test's link, which is shown once. */
export interface NewSsoTest {
  id: string;
  url: string;
  /** Until when the link works. */
  expiresAt: Date;
}

export interface SsoTestsDeps {
  db: Db;
  sealing: Sealing;
  signIn: Pick<SsoSignIn, 'start'>;
  /** Without a slash at its end. */
  baseUrl: string;
  now: Clock;
}

const outcomeContext = (testId: string) => `sso-test:${testId}`;

/**
 * Test sign-ins (docs/decisions/0037): a person is sent to the provider of a connection, whatever its status. The
 * response is checked as always and reported, but nobody is signed in, created, linked or counted.
 */
export function createSsoTests({ db, sealing, signIn, baseUrl, now }: SsoTestsDeps) {
  const system = <T>(work: (tx: EntityManager) => Promise<T>) => db.transaction('system', work);
  const kept = () => MoreThan(now());
  const unused = (token: string) => ({
    tokenHash: hashSecret(token),
    startedAt: IsNull(),
    createdAt: MoreThan(after(now(), -testLinkLife)),
  });

  /** Keeps what came of one, once. */
  async function settle(tx: EntityManager, id: string, connection: SsoConnection, outcome: SsoOutcome): Promise<void> {
    const sealedOutcome = sealing.seal(writeOutcome(outcome), outcomeContext(id));
    const where = { id, connectionId: connection.id, finishedAt: IsNull() };
    const { affected } = await tx.update(SsoTest, where, { finishedAt: now(), sealedOutcome });
    if (!affected) return;
    const isRefused = 'refusal' in outcome;
    await recordConnectionEvent(tx, 'sso_connection.tested', connection, {
      test_id: id,
      ...(isRefused && { reason: outcome.refusal.code }),
    });
  }

  function reportOn(test: SsoTest, connection: SsoConnection): Promise<SsoTestReport> {
    const { id, sealedOutcome } = test;
    const outcome = sealedOutcome === null ? null : readOutcome(sealing.open(sealedOutcome, outcomeContext(id)));
    return reportOf(db, { test, connection, outcome }, now());
  }

  return {
    /**
     * Creates a link by which its holder can test a connection, once.
     * @throws DomainError as `lockConnection`; sso_connection.incomplete naming what is missing
     */
    create: (at: ConnectionAt, caller: Caller): Promise<NewSsoTest> =>
      db.transaction(at.scope, async (tx) => {
        const connection = await lockConnection(tx, at, caller);
        const createdAt = now();
        assertComplete(connection);
        const { id: connectionId, accountId, environmentId } = connection;
        const [id, token] = [uuidv7(), newSecret()];
        await tx.insert(SsoTest, {
          id,
          accountId,
          environmentId,
          connectionId,
          tokenHash: hashSecret(token),
          sealedOutcome: null,
          createdAt,
          startedAt: null,
          finishedAt: null,
          expiresAt: after(createdAt, reportLife),
        });
        await recordConnectionEvent(tx, 'sso_connection.test_started', connection, { test_id: id });
        return { id, url: `${baseUrl}/sso/test?token=${token}`, expiresAt: after(createdAt, testLinkLife) };
      }),

    /** @throws DomainError organization.not_found, sso_connection.not_found, sso_connection.test_not_found */
    async get(at: ConnectionAt, testId: string): Promise<SsoTestReport> {
      const [connection, test] = await db.transaction(at.scope, async (tx) => {
        const its = await findConnection(tx, at);
        const { accountId, id: connectionId } = its;
        const found = await tx.findOneBy(SsoTest, { id: testId, accountId, connectionId, expiresAt: kept() });
        if (!found) throw new DomainError('sso_connection.test_not_found');
        return [its, found] as const;
      });
      return reportOn(test, connection);
    },

    /** What a link tries out, without using it. Null for one that does not work. */
    preview: (token: string): Promise<Pick<SsoConnection, 'name'> | null> =>
      system(async (tx) => {
        const test = await tx.findOneBy(SsoTest, unused(token));
        return test && tx.findOneBy(SsoConnection, { id: test.connectionId });
      }),

    /**
     * Uses a link: sends its holder to the provider.
     * @param browser the value of the browser's cookie, if it has one already
     * @returns only the test's id if the provider cannot be asked: the test is over, with the reason; null if the link
     *   does not work
     */
    async begin(token: string, browser: string | null): Promise<{ testId: string; started: StartedSso | null } | null> {
      const found = await system(async (tx) => {
        const test = await tx.findOneBy(SsoTest, unused(token));
        if (!test) return null;
        const { affected } = await tx.update(SsoTest, { id: test.id, startedAt: IsNull() }, { startedAt: now() });
        const connection = affected ? await tx.findOneBy(SsoConnection, { id: test.connectionId }) : null;
        return connection && { testId: test.id, connection };
      });
      if (!found) return null;
      const { testId, connection } = found;
      try {
        const parameters = { test_id: testId };
        const started = await signIn.start({ connection, purpose: 'test', parameters, browser });
        return { testId, started };
      } catch (error) {
        if (!(error instanceof SsoRefused)) throw error;
        const { code, message } = error;
        const { accountId } = connection;
        await db.transaction({ accountId }, (tx) => settle(tx, testId, connection, { refusal: { code, message } }));
        return { testId, started: null };
      }
    },

    /** Keeps the provider's answer, in the transaction that completes its request. */
    async finish(tx: EntityManager, { accountId, connectionId, parameters, outcome }: AnsweredSsoRequest) {
      const connection = await tx.findOneByOrFail(SsoConnection, { id: connectionId, accountId });
      await settle(tx, parameters.test_id as string, connection, outcome);
    },

    /** Returns the report for the page of the link's user; null if the test was deleted. */
    async report(testId: string): Promise<{ report: SsoTestReport; connection: SsoConnection } | null> {
      const found = await system(async (tx) => {
        const test = await tx.findOneBy(SsoTest, { id: testId, expiresAt: kept() });
        const connection = test && (await tx.findOneBy(SsoConnection, { id: test.connectionId }));
        return connection && { test, connection };
      });
      return found && { report: await reportOn(found.test, found.connection), connection: found.connection };
    },
  };
}

export type SsoTests = ReturnType<typeof createSsoTests>;
