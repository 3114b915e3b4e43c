import type { EntityManager } from 'typeorm';
import type { SsoConnection } from '../../../entities/sso-connection.js';
import { SsoRequest } from '../../../entities/sso-request.js';
import { after, type Clock } from '../../platform/clock.js';
import { inShareOf } from '../../platform/context.js';
import { equalInConstantTime, hashSecret } from '../../platform/crypto/one-time-secret.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import { type Db, inTransaction, type RunsStatement } from '../../platform/database/db.js';
import { tenantOf } from '../../platform/scope.js';
import { isEndedAtProvider } from '../sessions/provider-session-end.js';
import { connectionToBeginAt } from '../sso-connections/find.js';
import type { NamedProvider } from '../sso-connections/provider.js';
import type { Assertion } from '../sso-protocols/assertion.js';
import { rememberedFor, requestLife } from './lifetimes.js';
import { answerContext, lastingNameIn, readOutcome, type SsoOutcome, writeOutcome } from './outcome.js';

export type SsoPurpose = SsoRequest['purpose'];

const afterLife = rememberedFor - requestLife;

/** The request of a person who is to be sent to an identity provider. */
export interface NewSsoRequest {
  id: string;
  connection: Pick<SsoConnection, 'id' | 'accountId' | 'environmentId'> & NamedProvider;
  purpose: SsoPurpose;
  /** The `state` or `RelayState`, 256 bits. */
  state: string;
  /** The cookie's value in the browser that is sent. */
  browser: string;
  /** What the protocol needs to check the answer to the request; stored sealed. */
  secrets: Record<string, string> | null;
  /** What to continue with afterwards: for an end user, the parameters of the authorization request. */
  parameters: Record<string, string>;
}

/** A request whose response has just arrived, for the first time. */
export interface TakenSsoRequest {
  id: string;
  accountId: string;
  environmentId: string | null;
  connectionId: string;
  purpose: SsoPurpose;
  parameters: Record<string, string>;
  secrets: Record<string, string> | null;
  createdAt: Date;
}

/** A request whose browser has come back for the result. */
export type AnsweredSsoRequest = Omit<TakenSsoRequest, 'secrets'> & {
  /** The Application of its Environment; null for administrators. */
  applicationId: string | null;
  outcome: SsoOutcome;
};

/** A browser that comes for an answer, and its proofs. */
export interface ComingBrowser {
  /** The value of the cookie in the browser that was sent away. */
  cookie: string | null;
  /** What the browser was given that brought the answer (`SsoRequests.delivererOf`). */
  deliverer: string | null;
}

/** The state of a request when its browser comes back for it. */
export type Completion<T> =
  | { state: 'completed'; result: T }
  /** It was completed before: our answer was lost, or somebody went back. */
  | { state: 'over'; purpose: SsoPurpose; parameters: Record<string, string> }
  /** There is no answer yet, or it came too late, or the process ended while checking it. */
  | { state: 'unanswered'; purpose: SsoPurpose; parameters: Record<string, string> }
  /** The request no longer exists, or is another browser's, or another browser has delivered its response. */
  | { state: 'unknown' };

const columns = `id, account_id as "accountId", environment_id as "environmentId", connection_id as "connectionId", purpose, parameters,
  created_at as "createdAt"`;
const insertStatement = {
  name: 'begin_sso_request',
  text: `
insert into sso_requests (id, account_id, environment_id, connection_id, purpose, state_hash, browser_hash, sealed_secrets, parameters,
  created_at, expires_at)
select $1, $2, $3, its.id, $5, $6, $7, $8, $9, $10, $11
from (${connectionToBeginAt({ id: '$4::uuid', accountId: '$2::uuid', samlEntityId: '$12', oidcDiscoveryUrl: '$13' })}) its
returning id`,
};
const takeStatement = {
  name: 'take_sso_request',
  text: `
update sso_requests set answered_at = $3, deliverer_hash = $4
where state_hash = $1 and connection_id = $2 and answered_at is null and expires_at > $3
returning ${columns}, sealed_secrets as "sealedSecrets"`,
};
// Answered, or too late for that.
const rememberedStatement = {
  name: 'remembered_sso_request',
  text: `
select id from sso_requests
where state_hash = $1 and connection_id = $2 and (answered_at is not null or expires_at <= $3) and expires_at > $4`,
};
const findStatement = {
  name: 'find_sso_request',
  text: `
select ${columns}, browser_hash as "browserHash",
  (select application_id from environments where id = environment_id) as "applicationId"
from sso_requests where id = $1 and expires_at > $2`,
};
// A test shows what the provider has answered, whatever came after.
const storeStatement = {
  name: 'store_sso_answer',
  text: `
update sso_requests set sealed_secrets = null,
  sealed_answer = case when purpose <> 'test' and ${isEndedAtProvider('connection_id', '$3::bytea')} then $4 else $2 end
where id = $1
returning id`,
};
const broughtIt = (hash: string) => `(deliverer_hash is null or deliverer_hash = ${hash})`;
// If two browsers come at once, or an answer is withdrawn at this moment, one waits for the other's lock and then sees
// the row as it is.
const completeText = `
update sso_requests r set completed_at = $2, sealed_answer = null
from (select id, sealed_answer, ${broughtIt('$3::bytea')} as "hasBrought" from sso_requests where id = $1 for update) before
where r.id = before.id and r.completed_at is null and r.expires_at > $2 and before.sealed_answer is not null and before."hasBrought"
returning before.sealed_answer as "sealedAnswer"`;
const completionText = `select completed_at as "completedAt" from sso_requests where id = $1 and ${broughtIt('$2::bytea')}`;

const answeredText = `
select id, sealed_answer as "sealedAnswer" from sso_requests
where connection_id = $1 and purpose <> 'test' and sealed_answer is not null and completed_at is null and expires_at > $2
order by id for update`;
const withdrawn: SsoOutcome = {
  refusal: { code: 'provider_error', message: 'The provider has ended the session in the meantime' },
};

const secretsContext = (id: string) => `sso-secrets:${id}`;

/**
 * Requests of people who were sent to an identity provider. The state names the request when the provider's response
 * arrives, with or without cookies, and one response is accepted. The cookie proves that the browser that collects the
 * result is the one that was sent, and `deliverer` that it delivered the response: otherwise somebody who makes another
 * person open the provider's URL would be signed in as them (RFC 9700 §4.7).
 */
export function createSsoRequests({ db, sealing, now }: { db: Db; sealing: Sealing; now: Clock }) {
  const rowOf = ({ id, connection, purpose, state, browser, secrets, parameters }: NewSsoRequest): SsoRequest => {
    const at = now();
    return {
      id,
      accountId: connection.accountId,
      environmentId: connection.environmentId,
      connectionId: connection.id,
      purpose,
      stateHash: hashSecret(state),
      browserHash: hashSecret(browser),
      delivererHash: null,
      sealedSecrets: secrets && sealing.seal(JSON.stringify(secrets), secretsContext(id)),
      parameters,
      sealedAnswer: null,
      createdAt: at,
      expiresAt: after(at, requestLife),
      answeredAt: null,
      completedAt: null,
    };
  };

  const seal = (id: string, outcome: SsoOutcome) => sealing.seal(writeOutcome(outcome), answerContext(id));

  const rememberedSince = () => after(now(), -afterLife);

  async function storeOutcome(run: RunsStatement, id: string, outcome: SsoOutcome): Promise<boolean> {
    const stored = await run(storeStatement, [id, seal(id, outcome), lastingNameIn(outcome), seal(id, withdrawn)]);
    return stored.length > 0;
  }

  return {
    /**
     * Stores a request.
     * @returns false if the connection was deleted or given another provider meanwhile; then nobody may be sent away
     */
    async begin(request: NewSsoRequest): Promise<boolean> {
      const row = rowOf(request);
      const { samlEntityId, oidcDiscoveryUrl } = request.connection;
      const begun = await db.statementIn(tenantOf(request.connection), insertStatement, [
        row.id,
        row.accountId,
        row.environmentId,
        row.connectionId,
        row.purpose,
        row.stateHash,
        row.browserHash,
        row.sealedSecrets,
        row.parameters,
        row.createdAt,
        row.expiresAt,
        samlEntityId,
        oidcDiscoveryUrl,
      ]);
      return begun.length > 0;
    },

    /** Stores the answer to a request that nobody sent: an unsolicited response (SAML 2.0 Profiles §4.1.5). */
    async admit(tx: EntityManager, request: NewSsoRequest, outcome: SsoOutcome): Promise<void> {
      const row = rowOf(request);
      await tx.insert(SsoRequest, { ...row, sealedAnswer: seal(row.id, outcome), answeredAt: row.createdAt });
    },

    /**
     * The proof that is given to the browser that brings an answer, with which it comes for it. It is derived from the
     * answer: a browser that never got it brings the same answer again, and nobody else has that.
     * @param answer as it came; in nobody else's hands
     */
    delivererOf: (state: string, answer: string): string =>
      sealing.derive('sso-deliverer', `${state}\n${answer}`).secret.toString('base64url'),

    /**
     * The request that a state names at this connection, once. `repeated` if its answer was accepted before, from a
     * browser that did not get to know that and sends it again, or if it comes too late. Null: unknown, forgotten, or
     * of another connection.
     */
    async take(
      { state, connectionId }: { state: string; connectionId: string },
      deliverer: string,
    ): Promise<TakenSsoRequest | { repeated: string } | null> {
      const asked = [hashSecret(state), connectionId, now()] as const;
      const [row] = await db.statement<Omit<TakenSsoRequest, 'secrets'> & { sealedSecrets: string | null }>(
        takeStatement,
        [...asked, hashSecret(deliverer)],
      );
      if (row) {
        inShareOf(row.accountId);
        const { sealedSecrets, ...taken } = row;
        return { ...taken, secrets: sealedSecrets && JSON.parse(sealing.open(sealedSecrets, secretsContext(row.id))) };
      }
      const [remembered] = await db.statement<{ id: string }>(rememberedStatement, [...asked, rememberedSince()]);
      return remembered ? { repeated: remembered.id } : null;
    },

    /**
     * Stores the result of an answer until the browser comes for it; or, if the provider has ended its session
     * meanwhile, that. Only the system's scope can see whether it has.
     * @returns false if the request is gone: with its connection, or because that has another provider by now
     */
    storeOutcome,

    /**
     * Withdraws responses of a connection's provider that no browser has collected yet: it is then refused. Waits for
     * sign-ins that are being completed. In a transaction of the system.
     * @param isMeant whether a response is one of them
     * @returns what those assert
     */
    async withdraw(
      tx: EntityManager,
      { id: connectionId }: Pick<SsoConnection, 'id'>,
      isMeant: (assertion: Assertion) => boolean,
    ): Promise<Assertion[]> {
      const meant: Assertion[] = [];
      const rows = await tx.query<{ id: string; sealedAnswer: string }[]>(answeredText, [connectionId, now()]);
      for (const { id, sealedAnswer } of rows) {
        const outcome = readOutcome(sealing.open(sealedAnswer, answerContext(id)));
        if (!('assertion' in outcome) || !isMeant(outcome.assertion)) continue;
        await storeOutcome(inTransaction(tx), id, withdrawn);
        meant.push(outcome.assertion);
      }
      return meant;
    },

    /** Completes a request, once, in the transaction of what follows from it. */
    async complete<T>(
      id: string,
      { cookie, deliverer }: ComingBrowser,
      work: (tx: EntityManager, request: AnsweredSsoRequest) => Promise<T>,
    ): Promise<Completion<T>> {
      const [found] = await db.statement<FoundRow>(findStatement, [id, rememberedSince()]);
      // The same result for all reasons, so that nobody else learns whether such a request exists.
      if (!found || cookie === null || !equalInConstantTime(found.browserHash, hashSecret(cookie)))
        return { state: 'unknown' };
      inShareOf(found.accountId);
      const { browserHash: _, ...request } = found;
      const { purpose, parameters } = request;
      const delivererHash = deliverer === null ? null : hashSecret(deliverer);
      // In the scope of the whole Account, whose verified domains count for the connections of its Environments, too.
      return db.transaction({ accountId: request.accountId }, async (tx) => {
        const [[row]] = await tx.query<[{ sealedAnswer: string }[], number]>(completeText, [id, now(), delivererHash]);
        if (!row) {
          const [found] = await tx.query<{ completedAt: Date | null }[]>(completionText, [id, delivererHash]);
          if (!found) return { state: 'unknown' };
          return { state: found.completedAt ? 'over' : 'unanswered', purpose, parameters };
        }
        const outcome = readOutcome(sealing.open(row.sealedAnswer, answerContext(id)));
        return { state: 'completed', result: await work(tx, { ...request, outcome }) };
      });
    },
  };
}

export type SsoRequests = ReturnType<typeof createSsoRequests>;

type FoundRow = Omit<AnsweredSsoRequest, 'outcome'> & { browserHash: Buffer };
