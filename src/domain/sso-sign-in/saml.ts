import type { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import type { SsoConnection } from '../../../entities/sso-connection.js';
import { after, type Clock } from '../../platform/clock.js';
import { newSecret } from '../../platform/crypto/one-time-secret.js';
import type { Db } from '../../platform/db.js';
import { isStorable } from '../../platform/storable.js';
import { connectionToBeginAt } from '../sso-connections/find.js';
import { readAnyConnection } from '../sso-connections/read.js';
import { type Assertion, SsoRefused } from '../sso-protocols/assertion.js';
import type { SamlProtocol } from '../sso-protocols/saml/protocol.js';
import type { MetadataWanted } from '../sso-protocols/saml/service-provider-metadata.js';
import type { LogoutMessage } from '../sso-protocols/saml/signed-messages.js';
import type { SsoLeaving } from './leaving.js';
import { assertOnce, assertOnceIn } from './once.js';
import { endProviderSessions } from './provider-logout.js';
import { type NewSsoRequest, requestLife } from './requests.js';
import type { SsoSignIn } from './sign-in.js';

export interface SamlSsoDeps {
  db: Db;
  protocol: SamlProtocol;
  signIn: Pick<SsoSignIn, 'answer' | 'requests'>;
  leaving: Pick<SsoLeaving, 'answered'>;
  now: Clock;
}

/** A response as a browser posted it to the assertion consumer service. */
export interface PostedResponse {
  connectionId: string;
  samlResponse: string;
  relayState: string | null;
}

/** The request that the browser goes on with. */
export interface AnsweredResponse {
  requestId: string;
  /** What shows that this browser has brought the answer; null where the cookie does. */
  deliverer: string | null;
  /** For a browser that nobody here had sent away: the cookie that shows that it is the same. */
  browser: { value: string; expiresAt: Date } | null;
}

/** What a provider's messages do here, beside what they say (SAML 2.0 Profiles §4.1 and §4.4). */
export function createSamlSso({ db, protocol, signIn, leaving, now }: SamlSsoDeps) {
  // Whose connection it is, nobody knows before; its id is in URLs that providers are given.
  const find = async (id: string) => {
    const found = await readAnyConnection(db, id);
    return found?.type === 'saml' ? found : null;
  };

  /** The RelayState names a request that was never made, or none: taken only where the connection takes such answers. */
  async function admitUnasked({
    connectionId,
    samlResponse,
    relayState,
  }: PostedResponse): Promise<AnsweredResponse | null> {
    const connection = await find(connectionId);
    if (!connection?.isOpen || !connection.samlAllowIdpInitiated) return null;
    const assertion = await protocol.verify(connection, { samlResponse, expects: { requestId: null } });
    if (assertion.once) await assertOnce(db, connection, assertion.once);
    const [id, browser] = [uuidv7(), newSecret()];
    const isAdmin = connection.scope === 'admin';
    const request: NewSsoRequest = {
      id,
      connection,
      browser,
      state: newSecret(),
      secrets: null,
      purpose: isAdmin ? 'admin' : 'identity',
      parameters: isAdmin ? {} : ownAccountAt(relayState),
    };
    await db.transaction('system', async (tx) => {
      await assertStillIts(tx, connection, assertion);
      await signIn.requests.admit(tx, request, { assertion });
    });
    return { requestId: id, deliverer: null, browser: { value: browser, expiresAt: after(now(), requestLife) } };
  }

  return {
    /**
     * What the provider imports about us, in XML; null where there is no such connection.
     * @throws SsoRefused where it was deleted meanwhile
     */
    async metadata(connectionId: string, wanted: MetadataWanted): Promise<string | null> {
      const connection = await find(connectionId);
      return connection && protocol.metadataOf(connection, wanted);
    },

    /**
     * Takes a provider's response, once.
     * @returns null where nobody was sent away with this RelayState, or they have been too long
     * @throws SsoRefused for one that nobody asked for and that is not taken; one that was asked for keeps its refusal
     */
    async answer(response: PostedResponse): Promise<AnsweredResponse | null> {
      const { connectionId, samlResponse, relayState } = response;
      const answered =
        relayState !== null &&
        (await signIn.answer(
          { state: relayState, connectionId, protocol: 'saml', text: samlResponse },
          (connection, { id }) => protocol.verify(connection, { samlResponse, expects: { requestId: id } }),
        ));
      return answered ? { ...answered, browser: null } : admitUnasked(response);
    },

    /**
     * Ends what began with the provider's session that it says is over.
     * @returns where the browser takes our answer, or null where the provider wants none; undefined without such a connection
     * @throws SsoRefused
     */
    async logOut(
      connectionId: string,
      { message, relayState }: { message: LogoutMessage; relayState: string | null },
    ): Promise<string | null | undefined> {
      const connection = await find(connectionId);
      if (!connection) return undefined;
      const request = await protocol.verifyLogout(connection, message);
      await db.transaction('system', async (tx) => {
        await assertOnceIn(tx, connection, request.once, 'message');
        const { requests } = signIn;
        await endProviderSessions(tx, connection, { ...request, ifUnknown: 'all' }, { requests, now: now() });
      });
      return protocol.answerLogout(connection, { id: request.id, relayState });
    },

    /** Takes the provider's answer to whoever has left it; as `SsoLeaving.answered`. */
    async left(connectionId: string, { message, relayState }: { message: LogoutMessage; relayState: string | null }) {
      const connection = await find(connectionId);
      if (!connection || relayState === null) return null;
      return leaving.answered({ state: relayState, connectionId }, (id) =>
        protocol.verifyLeft(connection, id, message),
      );
    },
  };
}

export type SamlSso = ReturnType<typeof createSamlSso>;

/**
 * The connection can have another provider by now, whose people an answer of the one before must not name; whoever changes it from
 * here on finds the answer. @throws SsoRefused issuer_mismatch
 */
async function assertStillIts(tx: EntityManager, connection: SsoConnection, { issuer }: Assertion): Promise<void> {
  const { id, accountId, oidcDiscoveryUrl } = connection;
  const its = await tx.query<unknown[]>(stillItsText, [id, accountId, issuer, oidcDiscoveryUrl]);
  if (its.length === 0) throw new SsoRefused('issuer_mismatch', 'The connection has another provider by now');
}

const stillItsText = connectionToBeginAt({
  id: '$1::uuid',
  accountId: '$2::uuid',
  samlEntityId: '$3',
  oidcDiscoveryUrl: '$4',
});

const longestClientId = 200;

/**
 * Where somebody goes whom no client has sent: their own account, in the Environment of the client that the provider's
 * RelayState names. Whether there is such a client is asked when they come.
 */
const ownAccountAt = (relayState: string | null): Record<string, string> => ({
  client_id: relayState !== null && relayState.length <= longestClientId && isStorable(relayState) ? relayState : '',
  destination: 'account',
});
