import type { EntityManager } from 'typeorm';
import type { SsoConnection } from '../../../entities/sso-connection.js';
import { SsoRequest } from '../../../entities/sso-request.js';
import { after, type Clock } from '../../platform/clock.js';
import { equalInConstantTime, hashSecret } from '../../platform/crypto/one-time-secret.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import { type Db, inTransaction, type RunsStatement } from '../../platform/database/db.js';
import type { AccountScope } from '../../platform/scope.js';
import { isEndedAtProvider } from '../sessions/provider-standing.js';
import { connectionToBeginAt } from '../sso-connections/find.js';
import type { NamedProvider } from '../sso-connections/provider.js';
import type { Assertion } from '../sso-protocols/assertion.js';
import { rememberedFor, requestLife } from './lifetimes.js';
import { answerContext, readOutcome, type SsoOutcome, writeOutcome } from './outcome.js';

export type SsoPurpose = SsoRequest['purpose'];

const afterLife = rememberedFor - requestLife;

/** Somebody who is to be sent to an identity provider. */
export interface NewSsoRequest {
  id: string;
  connection: Pick<SsoConnection, 'id' | 'accountId' | 'environmentId'> & NamedProvider;
  purpose: SsoPurpose;
  /** The `state` or `RelayState`, 256 bits. */
  state: string;
  /** The value of the cookie of the browser that is sent. */
  browser: string;
  /** What the protocol needs of the request to check its answer; kept sealed. */
  secrets: Record<string, string> | null;
  /** What goes on afterwards: of an end user the parameters of the authorization request. */
  parameters: Record<string, string>;
}

/** One whose answer has come, just now and for the first time. */
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

/** One whose browser has come back for the answer. */
export type AnsweredSsoRequest = Omit<TakenSsoRequest, 'secrets'> & {
  /** Of its Environment; null for administrators. */
  applicationId: string | null;
  outcome: SsoOutcome;
};

/** A browser that comes for an answer, as it proves itself. */
export interface ComingBrowser {
  /** The value of the cookie of whoever was sent away. */
  cookie: string | null;
  /** What whoever brought the answer was given (`SsoRequests.delivererOf`). */
  deliverer: string | null;
}

/** How a request stands when its browser comes back for it. */
export type Completion<T> =
  | { state: 'completed'; result: T }
  /** It was completed before: the answer to that was lost, or somebody went back. */
  | { state: 'over'; purpose: SsoPurpose; parameters: Record<string, string> }
  /** Nothing was answered yet, or not in time, or the process ended while it looked at the answer. */
  | { state: 'unanswered'; purpose: SsoPurpose; parameters: Record<string, string> }
  /** There is no such request, no more, or of this browser; or another browser has brought its answer. */
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
// A test says what the provider has answered, whatever came after.
const keepStatement = {
  name: 'keep_sso_answer',
  text: `
update sso_requests set sealed_secrets = null,
  sealed_answer = case when purpose <> 'test' and ${isEndedAtProvider('connection_id', '$3::bytea')} then $4 else $2 end
where id = $1
returning id`,
};
const broughtIt = (hash: string) => `(deliverer_hash is null or deliverer_hash = ${hash})`;
// Of two browsers that come at once, or an answer that is taken back at this moment, one waits for the other's row as it is then.
const completeText = `
update sso_requests r set completed_at = $2, sealed_answer = null
from (select id, sealed_answer, ${broughtIt('$3::bytea')} as "hasBrought" from sso_requests where id = $1 for update) before
where r.id = before.id and r.completed_at is null and r.expires_at > $2 and before.sealed_answer is not null and before."hasBrought"
returning before.sealed_answer as "sealedAnswer"`;
const standingText = `select completed_at as "completedAt" from sso_requests where id = $1 and ${broughtIt('$2::bytea')}`;

const answeredText = `
select id, sealed_answer as "sealedAnswer" from sso_requests
where connection_id = $1 and purpose <> 'test' and sealed_answer is not null and completed_at is null and expires_at > $2
order by id for update`;
const withdrawn: SsoOutcome = {
  refusal: { code: 'provider_error', message: 'The provider has ended the session in the meantime' },
};

const secretsContext = (id: string) => `sso-secrets:${id}`;

/**
 * People who were sent to an identity provider. The state names the request when the provider's answer comes, with or without
 * cookies, and one answer is taken. The cookie shows that whoever comes for it is the browser that was sent, and `deliverer` that
 * it is the one which brought it: whoever has somebody else open the provider's URL would be signed in as them (RFC 9700 §4.7).
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

  const rememberedSince = () => new Date(now().getTime() - afterLife);

  async function keep(run: RunsStatement, id: string, outcome: SsoOutcome): Promise<boolean> {
    const kept = await run(keepStatement, [id, seal(id, outcome), lastingNameIn(outcome), seal(id, withdrawn)]);
    return kept.length > 0;
  }

  return {
    /** Writes down who is sent away. @returns false, and nobody is, where the connection is deleted or given another provider meanwhile */
    async begin(request: NewSsoRequest): Promise<boolean> {
      const row = rowOf(request);
      const { samlEntityId, oidcDiscoveryUrl } = request.connection;
      const begun = await db.statementIn(scopeOf(request.connection), insertStatement, [
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

    /** The same for whoever comes with an answer that nobody here asked for (SAML 2.0 Profiles §4.1.5). */
    async admit(tx: EntityManager, request: NewSsoRequest, outcome: SsoOutcome): Promise<void> {
      const row = rowOf(request);
      await tx.insert(SsoRequest, { ...row, sealedAnswer: seal(row.id, outcome), answeredAt: row.createdAt });
    },

    /**
     * What the browser that brings an answer is given, and comes for it with. Made out of the answer: a browser that did not get
     * to know it brings the same answer again, and nobody else has that.
     * @param answer as it came, such as it is in nobody else's hands
     */
    delivererOf: (state: string, answer: string): string =>
      sealing.derive('sso-deliverer', `${state}\n${answer}`).secret.toString('base64url'),

    /**
     * The request that a state names at this connection, once. `repeated` where its answer was taken before, by a browser that did
     * not get to know that and sends it again, or comes too late. Null: unknown, forgotten, or of another connection.
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
        const { sealedSecrets, ...taken } = row;
        return { ...taken, secrets: sealedSecrets && JSON.parse(sealing.open(sealedSecrets, secretsContext(row.id))) };
      }
      const [remembered] = await db.statement<{ id: string }>(rememberedStatement, [...asked, rememberedSince()]);
      return remembered ? { repeated: remembered.id } : null;
    },

    /**
     * Keeps what came of an answer, until the browser comes for it; of one whose session the provider has ended meanwhile, that.
     * Whether it has is seen in the scope of the system alone.
     * @returns false where the request is gone: with its connection, or because that has another provider by now
     */
    keep,

    /**
     * Takes answers back that a connection's provider has given and that nobody has come for yet: whoever comes is refused. Who is
     * just being let in is waited for. In a transaction of the system.
     * @param isMeant whether an answer is one of them
     */
    async withdraw(
      tx: EntityManager,
      { id: connectionId }: Pick<SsoConnection, 'id'>,
      isMeant: (assertion: Assertion) => boolean,
    ): Promise<void> {
      const rows = await tx.query<{ id: string; sealedAnswer: string }[]>(answeredText, [connectionId, now()]);
      for (const { id, sealedAnswer } of rows) {
        const outcome = readOutcome(sealing.open(sealedAnswer, answerContext(id)));
        if ('assertion' in outcome && isMeant(outcome.assertion)) await keep(inTransaction(tx), id, withdrawn);
      }
    },

    /** Completes a request, once, in the transaction of what comes of it. */
    async complete<T>(
      id: string,
      { cookie, deliverer }: ComingBrowser,
      work: (tx: EntityManager, request: AnsweredSsoRequest) => Promise<T>,
    ): Promise<Completion<T>> {
      const [found] = await db.statement<FoundRow>(findStatement, [id, rememberedSince()]);
      // One answer for all: whether there is such a request is nobody else's business.
      if (!found || cookie === null || !equalInConstantTime(found.browserHash, hashSecret(cookie)))
        return { state: 'unknown' };
      const { browserHash: _, ...request } = found;
      const { purpose, parameters } = request;
      const delivererHash = deliverer === null ? null : hashSecret(deliverer);
      // Of the whole Account: what it has verified counts for the connections of its Environments, too.
      return db.transaction({ accountId: request.accountId }, async (tx) => {
        const [[row]] = await tx.query<[{ sealedAnswer: string }[], number]>(completeText, [id, now(), delivererHash]);
        if (!row) {
          const [standing] = await tx.query<{ completedAt: Date | null }[]>(standingText, [id, delivererHash]);
          if (!standing) return { state: 'unknown' };
          return { state: standing.completedAt ? 'over' : 'unanswered', purpose, parameters };
        }
        const outcome = readOutcome(sealing.open(row.sealedAnswer, answerContext(id)));
        return { state: 'completed', result: await work(tx, { ...request, outcome }) };
      });
    },
  };
}

/**
 * The hash of the session's name that an answer says, as far as no other session ever has it: SAML's can be a small number that
 * comes again (SAML 2.0 Core §2.7.2).
 */
function lastingNameIn(outcome: SsoOutcome): Buffer | null {
  if ('refusal' in outcome || outcome.assertion.handle.protocol !== 'oidc') return null;
  const { sessionIndex } = outcome.assertion;
  return sessionIndex === null ? null : hashSecret(sessionIndex);
}

export type SsoRequests = ReturnType<typeof createSsoRequests>;

type FoundRow = Omit<AnsweredSsoRequest, 'outcome'> & { browserHash: Buffer };

const scopeOf = ({ accountId, environmentId }: { accountId: string; environmentId: string | null }): AccountScope =>
  environmentId === null ? { accountId } : { accountId, environmentId };
