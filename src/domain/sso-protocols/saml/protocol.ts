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
  /** Made where it is first asked for. */
  keyOf: (connection: SsoConnection) => Promise<ServiceProviderKey>;
  now: () => Date;
}

/** SAML 2.0 as a service provider. It knows messages and keys, and neither rows nor HTTP. */
export function createSamlProtocol({ baseUrl, keyOf, now }: SamlProtocolDeps) {
  return {
    /** Where to send a browser that is to sign in. @throws SsoRefused */
    async begin(connection: SsoConnection, request: RequestToSend): Promise<{ url: string; secrets: null }> {
      const url = await authnRequestUrl(connection, request, { baseUrl, key: await keyOf(connection) });
      return { url, secrets: null };
    },

    /** What the provider's answer says, if every check lets it. @throws SsoRefused */
    verify: (connection: SsoConnection, response: ResponseToVerify): Promise<Assertion> =>
      refusing(() => verifyResponse(connection, response, { baseUrl, keyOf, now: now() })),

    /** Whose session has ended at the provider. @throws SsoRefused */
    verifyLogout: (connection: SsoConnection, message: LogoutMessage): Promise<LogoutRequest> =>
      refusing(() => verifyLogoutRequest(connection, message, { baseUrl, now: now() })),

    /** Where the browser takes our answer to it; null where the provider has no place for one. */
    async answerLogout(
      connection: SsoConnection,
      answered: { id: string; relayState: string | null },
    ): Promise<string | null> {
      return logoutResponseUrl(connection, answered, { baseUrl, key: await keyOf(connection) });
    },

    /** Where a browser leaves the provider; null where it has no place for that. @throws SsoRefused */
    async leave(connection: SsoConnection, leaving: Leaving): Promise<string | null> {
      return logoutRequestUrl(connection, leaving, { baseUrl, key: await keyOf(connection) });
    },

    /** Whether the provider's answer says that the person has left. @throws SsoRefused if not */
    verifyLeft: (connection: SsoConnection, logoutId: string, message: LogoutMessage): Promise<void> =>
      refusing(() => verifyLogoutResponse(connection, message, { logoutId, baseUrl, now: now() })),

    /** What the provider imports about us, in XML. @throws SsoRefused where the connection was deleted meanwhile */
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
