import type { SsoConnection } from '../../../../entities/sso-connection.js';
import { type Assertion, SsoRefused } from '../assertion.js';
import {
  type Leaving,
  type LogoutRequest,
  logoutRequestUrl,
  logoutResponseUrl,
  verifyLogoutRequest,
  verifyLogoutResponse,
} from './logout.js';
import { authnRequestUrl, type RequestToSend, type ServiceProviderKey } from './requests.js';
import { type ResponseToVerify, verifyResponse } from './responses.js';
import { type MetadataWanted, serviceProviderMetadata } from './service-provider-metadata.js';
import { samlServiceProviderOf } from './settings.js';
import type { LogoutMessage } from './signed-messages.js';
import { XmlRefused } from './xml.js';

export interface SamlProtocolDeps {
  baseUrl: string;
  /** Returns the connection's key, which is created on first use. */
  keyOf: (connection: SsoConnection) => Promise<ServiceProviderKey>;
  now: () => Date;
}

/** SAML 2.0 as a service provider. It handles messages and keys, but neither rows nor HTTP. */
export function createSamlProtocol({ baseUrl, keyOf, now }: SamlProtocolDeps) {
  return {
    /** Returns the URL that takes a browser to the provider for a sign-in. @throws SsoRefused */
    async begin(connection: SsoConnection, request: RequestToSend): Promise<{ url: string; secrets: null }> {
      const url = await authnRequestUrl(connection, request, { baseUrl, key: await keyOf(connection) });
      return { url, secrets: null };
    },

    /** Returns what the provider's response says, after all checks. @throws SsoRefused */
    verify: (connection: SsoConnection, response: ResponseToVerify): Promise<Assertion> =>
      refusing(() => verifyResponse(connection, response, { baseUrl, keyOf, now: now() })),

    /** Returns which session has ended at the provider. @throws SsoRefused */
    verifyLogout: (connection: SsoConnection, message: LogoutMessage): Promise<LogoutRequest> =>
      refusing(() => verifyLogoutRequest(connection, message, { baseUrl, now: now() })),

    /** Returns the URL that takes our response to the provider; null if it has no logout URL. */
    async answerLogout(
      connection: SsoConnection,
      answered: { id: string; relayState: string | null },
    ): Promise<string | null> {
      return logoutResponseUrl(connection, answered, { baseUrl, key: await keyOf(connection) });
    },

    /** Returns the URL of the logout at the provider; null if it has none. @throws SsoRefused */
    async leave(connection: SsoConnection, leaving: Leaving): Promise<string | null> {
      return logoutRequestUrl(connection, leaving, { baseUrl, key: await keyOf(connection) });
    },

    /** Checks that the provider's response says that the logout succeeded. @throws SsoRefused if not */
    verifyLeft: (connection: SsoConnection, logoutId: string, message: LogoutMessage): Promise<void> =>
      refusing(() => verifyLogoutResponse(connection, message, { logoutId, baseUrl, now: now() })),

    /** Returns our metadata for the provider, in XML. @throws SsoRefused if the connection was deleted meanwhile */
    async metadataOf(connection: SsoConnection, wanted: MetadataWanted = {}): Promise<string> {
      const { certificate } = await keyOf(connection);
      return serviceProviderMetadata(connection, samlServiceProviderOf(baseUrl, connection.id), certificate, wanted);
    },
  };
}

export type SamlProtocol = ReturnType<typeof createSamlProtocol>;

async function refusing<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof XmlRefused) throw new SsoRefused(error.reason, error.message, { cause: error });
    throw error;
  }
}
