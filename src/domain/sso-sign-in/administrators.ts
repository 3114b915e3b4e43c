import type { EntityManager } from 'typeorm';
import { SsoConnection } from '../../../entities/sso-connection.js';
import type { Clock } from '../../platform/clock.js';
import { type Db, inTransaction } from '../../platform/database/db.js';
import { violates } from '../../platform/database/postgres-errors.js';
import { recordEvent } from '../events/record.js';
import { addressTyped } from '../logins/address.js';
import { registeredMethods } from '../sessions/first-factor.js';
import { adminConnectionByAddress } from '../sso-connections/covering.js';
import { isSameProvider, type NamedProvider } from '../sso-connections/provider.js';
import { readConnection } from '../sso-connections/read.js';
import type { Assertion, SsoRefusal } from '../sso-protocols/assertion.js';
import type { Browser } from '../users/outcomes.js';
import type { ProvedByProvider, ProviderOutcome, SignIn } from '../users/sign-in.js';
import { admitAdministrator } from './administrator-admission.js';
import type { ProviderSessions } from './provider-sessions.js';
import { freshAuthentication, isRecentEnough, noDemands, provedAt } from './recency.js';
import type { PersonRefusal } from './recognition.js';
import type { AnsweredSsoRequest } from './requests.js';

export type AdministratorRefusal = SsoRefusal | PersonRefusal;

/** The result of coming back from a provider: signed in, with several Applications to choose from, or refused. */
export type AdministratorArrival = { refusal: AdministratorRefusal } | { signedIn: ProviderOutcome };

export interface AdministratorSsoDeps {
  db: Db;
  signIn: Pick<SignIn, 'signInByProvider'>;
  sessions: Pick<ProviderSessions, 'store'>;
  now: Clock;
}

type Refused = { refusal: AdministratorRefusal };
interface Arrived extends Pick<ProvedByProvider, 'userId' | 'emailChangedAt'> {
  ssoSessionId: string;
  assertion: Assertion;
}

/** Administrators who sign in by an Account's identity provider (docs/decisions/0039). */
export function createAdministratorSso({ db, signIn, sessions, now }: AdministratorSsoDeps) {
  async function admitted(
    { connectionId, outcome, createdAt, parameters }: AnsweredSsoRequest,
    provider: NamedProvider | null,
  ): Promise<Arrived | Refused> {
    if ('refusal' in outcome) return { refusal: outcome.refusal.code };
    const { assertion } = outcome;
    const admit = () =>
      db.transaction('system', async (tx): Promise<Omit<Arrived, 'assertion'> | Refused> => {
        // Locked: its deletion, or a change of its provider, removes the links as well.
        const lock = { mode: 'for_key_share' } as const;
        const where = { id: connectionId, scope: 'admin', status: 'active' } as const;
        const connection = await tx.findOne(SsoConnection, { where, lock });
        if (!connection || !provider) return { refusal: 'connection_disabled' };
        if (!isSameProvider(connection, provider)) return { refusal: 'issuer_mismatch' };
        if (!isRecentEnough(assertion, isAnew(parameters) ? freshAuthentication : noDemands, connection, { createdAt }))
          return { refusal: 'reauthentication_missing' };
        const admitted = await admitAdministrator(tx, connection, assertion, now());
        if ('refusal' in admitted) return admitted;
        const { userId, emailChangedAt, linkId } = admitted;
        return { userId, emailChangedAt, ssoSessionId: await sessions.store(tx, connection, { assertion, linkId }) };
      });
    // Another request may have just created, linked or admitted the same person; a second try finds them.
    const found = await admit().catch((error: unknown) => {
      if (!races.some((constraint) => violates(error, constraint))) throw error;
      return admit();
    });
    return 'refusal' in found ? found : { ...found, assertion };
  }

  async function refuse({ accountId, connectionId }: AnsweredSsoRequest, refusal: AdministratorRefusal) {
    await db.transaction('system', (tx) =>
      recordEvent(tx, 'auth.admin_sign_in_failed', {
        accountId,
        resourceId: null,
        outcome: 'denied',
        metadata: { method: 'sso', connection_id: connectionId, reason: refusal },
      }),
    );
    return { refusal };
  }

  return {
    /** The connection for the domain of an address, whether or not anybody has the address. */
    connectionFor: (email: string): Promise<SsoConnection | null> =>
      db.transaction('system', (tx) => adminConnectionByAddress(tx, addressTyped(email))),

    /**
     * Returns the provider of a request's response, in the transaction that completes it; until its end the
     * connection's provider cannot be changed.
     * @returns null if the connection was deleted
     */
    providerOf: (
      tx: EntityManager,
      { accountId, connectionId: id }: Pick<AnsweredSsoRequest, 'accountId' | 'connectionId'>,
    ): Promise<NamedProvider | null> => readConnection(inTransaction(tx), { accountId, id }),

    /**
     * Lets in the person of a completed request's answer, and starts their session in the connection's Account.
     * @param provider as `providerOf` found it
     */
    async arrive(
      request: AnsweredSsoRequest,
      provider: NamedProvider | null,
      browser: Browser,
    ): Promise<AdministratorArrival> {
      const found = await admitted(request, provider);
      if ('refusal' in found) return refuse(request, found.refusal);
      const { accountId, connectionId, parameters } = request;
      const { userId, emailChangedAt, ssoSessionId, assertion } = found;
      const signedIn = await signIn.signInByProvider({
        userId,
        emailChangedAt,
        accountId,
        connectionId,
        ssoSessionId,
        amr: registeredMethods(assertion.amr),
        authTime: provedAt(assertion, now()),
        asksOwnFactor: isAnew(parameters),
        applicationId: parameters.application_id ?? null,
        ...browser,
      });
      return { signedIn };
    },
  };
}

export type AdministratorSso = ReturnType<typeof createAdministratorSso>;

/** Whether the sign-in was begun to allow a change of factors. */
const isAnew = ({ prompt }: AnsweredSsoRequest['parameters']): boolean => prompt === 'login';

const races = ['users_email', 'sso_links_subject', 'memberships_one_per_user'];
