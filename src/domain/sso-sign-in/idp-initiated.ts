import type { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import type { SsoConnection } from '../../../entities/sso-connection.js';
import { after, type Clock } from '../../platform/clock.js';
import { newSecret } from '../../platform/crypto/one-time-secret.js';
import type { Db } from '../../platform/database/db.js';
import { isStorable } from '../../platform/database/storable.js';
import { connectionToBeginAt } from '../sso-connections/find.js';
import type { ReadConnection } from '../sso-connections/read.js';
import { type Assertion, SsoRefused } from '../sso-protocols/assertion.js';
import type { SamlProtocol } from '../sso-protocols/saml/protocol.js';
import { rememberedFor } from './lifetimes.js';
import { recordSsoRefusal } from './record-refusal.js';
import { assertNotReplayed } from './replay.js';
import type { NewSsoRequest, SsoRequests } from './requests.js';

/** A response as a browser posted it to the assertion consumer service. */
export interface PostedResponse {
  connectionId: string;
  samlResponse: string;
  relayState: string | null;
}

/** The request with which the browser continues. */
export interface AnsweredResponse {
  requestId: string;
  /** What proves that this browser has brought the answer; null if the cookie does. */
  deliverer: string | null;
  /** For a browser that was not sent away by us: the cookie that will prove that it is the same. */
  browser: { value: string; expiresAt: Date } | null;
}

export interface UnaskedDeps {
  db: Db;
  protocol: Pick<SamlProtocol, 'verify'>;
  requests: Pick<SsoRequests, 'admit'>;
  now: Clock;
}

/** Unsolicited responses of providers, as from a tile in their portal (SAML 2.0 Profiles §4.1.5). */
export function createIdpInitiatedSignIn({ db, protocol, requests, now }: UnaskedDeps) {
  /**
   * Returns parameters that say where to send a person whom no client has sent: none for an administrator; for
   * everybody else the application, if it can start a sign-in itself, or their own account.
   */
  async function parametersFor(
    tx: EntityManager,
    connection: SsoConnection,
    relayState: string | null,
  ): Promise<Record<string, string>> {
    if (connection.scope === 'admin') return {};
    const { clientId, isLaunched } = await clientNamed(tx, connection, relayState);
    return { client_id: clientId, destination: isLaunched ? 'account/launch' : 'account' };
  }

  async function admitted(
    connection: SsoConnection,
    assertion: Assertion,
    relayState: string | null,
  ): Promise<AnsweredResponse> {
    if (assertion.once) await assertNotReplayed(db, connection, assertion.once);
    const [id, browser] = [uuidv7(), newSecret()];
    const purpose = connection.scope === 'admin' ? 'admin' : 'identity';
    await db.transaction('system', async (tx) => {
      await assertSameProvider(tx, connection, assertion);
      const parameters = await parametersFor(tx, connection, relayState);
      const request: NewSsoRequest = {
        id,
        connection,
        browser,
        state: newSecret(),
        secrets: null,
        purpose,
        parameters,
      };
      await requests.admit(tx, request, { assertion });
    });
    return { requestId: id, deliverer: null, browser: { value: browser, expiresAt: after(now(), rememberedFor) } };
  }

  /** Only recorded for the provider's own response: anybody can post one. */
  async function recordRefusal(connection: SsoConnection, { code: reason }: SsoRefused): Promise<void> {
    if (connection.scope === 'admin') return;
    const { id: connectionId, accountId, environmentId } = connection;
    const refused = { accountId, environmentId, connectionId, reason, outcome: 'failure' } as const;
    await db.transaction({ accountId }, (tx) => recordSsoRefusal(tx, refused));
  }

  return {
    /**
     * Signs in the person of the response, once, if the connection accepts such responses.
     * @returns null for a response to a request that is no longer known
     * @throws SsoRefused
     */
    async admit(
      connection: ReadConnection,
      { samlResponse, relayState }: PostedResponse,
    ): Promise<AnsweredResponse | null> {
      let isVerified = false;
      try {
        const assertion = await protocol.verify(connection, { samlResponse, expects: { requestId: null } });
        isVerified = true;
        return await admitted(connection, assertion, relayState);
      } catch (error) {
        if (!(error instanceof SsoRefused)) throw error;
        const isAnswerToRequest = error.code === 'in_response_to_mismatch';
        const isTaken = connection.samlAllowIdpInitiated || error.code === 'idp_initiated_disabled';
        if (isAnswerToRequest || !isTaken) return null;
        // An answer of the connection's former provider counts as not verified.
        const isOfProvider = error.isSigned || (isVerified && error.code !== 'issuer_mismatch');
        if (isOfProvider) await recordRefusal(connection, error);
        throw error;
      }
    },
  };
}

/**
 * Checks that the connection still has this provider: a response of the former one must not identify people. A change
 * of the provider from here on finds the response.
 * @throws SsoRefused issuer_mismatch
 */
async function assertSameProvider(tx: EntityManager, connection: SsoConnection, { issuer }: Assertion): Promise<void> {
  const { id, accountId, oidcDiscoveryUrl } = connection;
  const its = await tx.query<unknown[]>(sameProviderText, [id, accountId, issuer, oidcDiscoveryUrl]);
  if (its.length === 0) throw new SsoRefused('issuer_mismatch', 'The connection now has another provider');
}

const sameProviderText = connectionToBeginAt({
  id: '$1::uuid',
  accountId: '$2::uuid',
  samlEntityId: '$3',
  oidcDiscoveryUrl: '$4',
});

const maxClientIdLength = 200;

/**
 * The client of the connection's Environment that RelayState names; or the only one, whatever RelayState says: many
 * providers send none, or something of their own.
 * @throws SsoRefused relay_state_unknown
 */
async function clientNamed(
  tx: EntityManager,
  { accountId, environmentId }: SsoConnection,
  relayState: string | null,
): Promise<{ clientId: string; isLaunched: boolean }> {
  const isName = relayState !== null && relayState.length <= maxClientIdLength && isStorable(relayState);
  const [first, another] = await tx.query<{ clientId: string; isNamed: boolean; isLaunched: boolean }[]>(
    `select client_id as "clientId", client_id = $3 as "isNamed",
       initiate_login_uri is not null as "isLaunched" from oauth_clients
     where account_id = $1 and environment_id = $2 order by client_id = $3 desc, id limit 2`,
    [accountId, environmentId, isName ? relayState : ''],
  );
  if (first && (first.isNamed || !another)) return first;
  throw new SsoRefused('relay_state_unknown', 'Its RelayState is not the client_id of an application here');
}
