import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import { readAnyConnection } from '../sso-connections/read.js';
import type { SamlProtocol } from '../sso-protocols/saml/protocol.js';
import type { MetadataWanted } from '../sso-protocols/saml/service-provider-metadata.js';
import type { LogoutMessage } from '../sso-protocols/saml/signed-messages.js';
import { type AnsweredResponse, createIdpInitiatedSignIn, type PostedResponse } from './idp-initiated.js';
import { endProviderSessions } from './provider-logout.js';
import type { ProviderSignOut } from './provider-sign-out.js';
import { assertNotReplayedIn } from './replay.js';
import type { SsoSignIn } from './sign-in.js';

export interface SamlSsoDeps {
  db: Db;
  protocol: SamlProtocol;
  signIn: Pick<SsoSignIn, 'answer' | 'requests'>;
  leaving: Pick<ProviderSignOut, 'answered'>;
  now: Clock;
}

/** Processes a provider's messages (SAML 2.0 Profiles §4.1 and §4.4). */
export function createSamlSso({ db, protocol, signIn, leaving, now }: SamlSsoDeps) {
  // Providers' URLs contain only the connection's id, so its Account is not known before.
  const find = async (id: string) => {
    const found = await readAnyConnection(db, id);
    return found?.type === 'saml' ? found : null;
  };

  const unasked = createIdpInitiatedSignIn({ db, protocol, requests: signIn.requests, now });

  return {
    /**
     * Returns our metadata for the provider, in XML; null if there is no such connection.
     * @throws SsoRefused if it was deleted meanwhile
     */
    async metadata(connectionId: string, wanted: MetadataWanted): Promise<string | null> {
      const connection = await find(connectionId);
      return connection && protocol.metadataOf(connection, wanted);
    },

    /**
     * Accepts a provider's response, once.
     * @returns null if it answers a request that is no longer known, or there is no such connection
     * @throws SsoRefused for an unsolicited one that is refused; the refusal of a solicited one is stored with its
     *   request
     */
    async answer(response: PostedResponse): Promise<AnsweredResponse | null> {
      const { connectionId, samlResponse, relayState } = response;
      const answered =
        relayState !== null &&
        (await signIn.answer(
          { state: relayState, connectionId, protocol: 'saml', text: samlResponse },
          (connection, { id }) => protocol.verify(connection, { samlResponse, expects: { requestId: id } }),
        ));
      if (answered) return { ...answered, browser: null };
      const connection = await find(connectionId);
      return connection?.isOpen ? unasked.admit(connection, response) : null;
    },

    /**
     * Ends what began with the session that the provider reports as over.
     * @returns the URL for our response, or null if the provider has none; undefined without such a connection
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
        await assertNotReplayedIn(tx, connection, request.once, 'message');
        const { requests } = signIn;
        await endProviderSessions(tx, connection, { ...request, ifUnknown: 'all' }, { requests, now: now() });
      });
      return protocol.answerLogout(connection, { id: request.id, relayState });
    },

    /** Handles the provider's response to a logout; as `ProviderSignOut.answered`. */
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
