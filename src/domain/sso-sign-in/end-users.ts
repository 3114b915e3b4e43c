import type { EntityManager } from 'typeorm';
import type { SsoConnection } from '../../../entities/sso-connection.js';
import type { Clock } from '../../platform/clock.js';
import { type Db, inOwnTransaction, inTransaction } from '../../platform/database/db.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { identityConnectionFor } from '../sso-connections/covering.js';
import { readConnection } from '../sso-connections/read.js';
import type { SsoRefusal } from '../sso-protocols/assertion.js';
import { admit, losesARace } from './people.js';
import type { ProviderSessions } from './provider-sessions.js';
import { isRecentEnough, type ProviderDemands, provedAt } from './recency.js';
import type { PersonRefusal } from './recognition.js';
import { recordSsoRefusal } from './record-refusal.js';
import type { AnsweredSsoRequest } from './requests.js';

/** Why a person who came back from a provider is refused; stable, since pages and events use it. */
export type SsoSignInRefusal = SsoRefusal | PersonRefusal;

/** The person who has come back, or why they are refused; with the request that recorded it, if that is another one. */
export type Arrival =
  | { identityId: string; connectionId: string; ssoSessionId: string; amr: readonly string[]; authTime: Date }
  | { refusal: SsoSignInRefusal; requestId?: string | undefined };

/** Sign-in of end users by an identity provider: which connection is theirs, and whom its responses sign in. */
export function createEndUserSso({
  db,
  sessions,
  now,
}: {
  db: Db;
  sessions: Pick<ProviderSessions, 'store'>;
  now: Clock;
}) {
  return {
    /**
     * The connection of the Environment with this id, if it is active, and so is its organization with everything above
     * it.
     */
    async connection({ accountId, environmentId }: EnvironmentScope, id: string): Promise<SsoConnection | null> {
      const found = await readConnection(inOwnTransaction(db, { accountId, environmentId }), { accountId, id });
      return found?.environmentId === environmentId && found.isOpen ? found : null;
    },

    /** The active connection for the domain of an address. */
    connectionFor: (scope: EnvironmentScope, email: string): Promise<SsoConnection | null> =>
      db.transaction({ accountId: scope.accountId }, (tx) => identityConnectionFor(tx, scope, email)),

    /**
     * Returns the person whom a response signs in, in the transaction that completes its request.
     * @param asked what the authorization request required when the person was sent away
     * @throws errors for which `losesARace` is true; trying again settles them
     */
    async arrive(tx: EntityManager, request: AnsweredSsoRequest, asked: ProviderDemands): Promise<Arrival> {
      const { accountId, applicationId, connectionId, outcome } = request;
      if ('refusal' in outcome) {
        const { code: refusal, requestId } = outcome.refusal;
        return { refusal, requestId };
      }
      const connection = await readConnection(inTransaction(tx), { accountId, id: connectionId });
      if (!connection?.isOpen) return { refusal: 'connection_disabled' };
      const { assertion } = outcome;
      const admitted = isRecentEnough(assertion, asked, connection, request)
        ? await admit(tx, connection, assertion, { applicationId, now: now() })
        : { refusal: 'reauthentication_missing' as const };
      if ('identityId' in admitted) {
        const { identityId, linkId } = admitted;
        const ssoSessionId = await sessions.store(tx, connection, { assertion, linkId });
        return { identityId, connectionId, ssoSessionId, amr: assertion.amr, authTime: provedAt(assertion, now()) };
      }
      await recordSsoRefusal(tx, { ...request, reason: admitted.refusal, outcome: 'denied' });
      return admitted;
    },

    losesARace,
  };
}

export type EndUserSso = ReturnType<typeof createEndUserSso>;
