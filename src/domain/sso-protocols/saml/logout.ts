import type { SAML } from '@node-saml/node-saml';
import type { SsoConnection } from '../../../../entities/sso-connection.js';
import { after, clockSkewMs, minutes } from '../../../platform/clock.js';
import { type ProviderHandle, SsoRefused } from '../assertion.js';
import { assertInResponseTo, assertIssuer } from './assertions.js';
import { loadLibrary } from './library.js';
import type { ServiceProviderKey } from './requests.js';
import { assertSuccess } from './responses.js';
import { providerOf, samlServiceProviderOf } from './settings.js';
import { assertNothingEncrypted } from './signatures.js';
import { type LogoutMessage, readSigned } from './signed-messages.js';
import { signedUrl } from './signed-url.js';
import { lastingNameOf, nameIdOf, transientSessionOf } from './subjects.js';
import { assertInTime, assertPast, instantOf, skewed } from './times.js';
import { childOf, childrenOf, samlNamespaces, type XmlElement } from './xml.js';

const { assertion: saml, protocol } = samlNamespaces;
/** The greatest age of a LogoutRequest without a NotOnOrAfter. */
const lifeMs = minutes(5);

/** The session at the provider that has ended. */
export interface LogoutRequest {
  /** The id of the message, for the response. */
  id: string;
  /** The person, as `Assertion.subject`; null for a transient NameID: the person to whom the session belongs. */
  subject: string | null;
  /** Their sessions that have ended, as `Assertion.sessionIndex`; empty: all. */
  sessionIndexes: string[];
  /** The message works once; its id, and until when it could be replayed. */
  once: { id: string; until: Date };
}

interface Checking {
  baseUrl: string;
  now: Date;
}
interface Sending {
  baseUrl: string;
  key: ServiceProviderKey;
}

/**
 * Checks a provider's LogoutRequest (SAML 2.0 Profiles §4.4.4.1, Core §3.7.1): it is signed, from the connection's
 * provider, addressed to us, and current.
 * @throws SsoRefused
 */
export async function verifyLogoutRequest(
  connection: SsoConnection,
  message: LogoutMessage,
  { baseUrl, now }: Checking,
): Promise<LogoutRequest> {
  const parties = { provider: providerOf(connection), serviceProvider: samlServiceProviderOf(baseUrl, connection.id) };
  const request = await readSigned('LogoutRequest', message, parties.provider);
  assertIssuer(childOf(request, saml, 'Issuer'), parties.provider);
  assertSentTo(parties.serviceProvider.sloUrl, request);
  const id = request.attributes.get('ID');
  const issuedAt = instantOf(request, 'IssueInstant');
  if (!id || !issuedAt) throw new SsoRefused('malformed', 'It lacks an id or the time when it was issued');
  assertPast(issuedAt, 'IssueInstant', now);
  assertInTime(request, now);
  const until = instantOf(request, 'NotOnOrAfter') ?? after(issuedAt, lifeMs);
  if (now.getTime() - clockSkewMs >= until.getTime()) throw new SsoRefused('expired', 'It was issued too long ago');
  assertNothingEncrypted(request);
  const nameId = nameIdOf(request);
  const transient = transientSessionOf(nameId);
  const meant =
    transient === null
      ? {
          subject: lastingNameOf(nameId, {}, parties),
          sessionIndexes: childrenOf(request, protocol, 'SessionIndex').map(({ text }) => text.trim()),
        }
      : { subject: null, sessionIndexes: [transient] };
  return {
    id,
    ...meant,
    once: { id, until: skewed(until) },
  };
}

/**
 * Returns the URL that takes our response to a LogoutRequest to the provider, where it wants responses (SAML 2.0 Metadata
 * §2.2.2); null if no URL takes one. Each request has to be answered (SAML 2.0 Core §3.7.2), so a URL for responses
 * suffices.
 * @param relayState of the request; it is sent back unchanged
 */
export async function logoutResponseUrl(
  connection: SsoConnection,
  { id, relayState }: { id: string; relayState: string | null },
  sending: Sending,
): Promise<string | null> {
  const logoutUrl = connection.samlSloResponseUrl ?? connection.samlSloUrl;
  if (!logoutUrl) return null;
  const answered = { ID: id, issuer: '', nameID: '', nameIDFormat: '' };
  const library = await sender(connection, { ...sending, logoutUrl });
  const url = await library.getLogoutResponseUrlAsync(answered, relayState ?? '', {}, true);
  return signedUrl(url, connection, sending.key.privateKey);
}

/** A logout at the provider: the id of its row, the RelayState, and the provider's session. */
export interface Leaving {
  logoutId: string;
  state: string;
  handle: Extract<ProviderHandle, { protocol: 'saml' }>;
}

/** @param logoutId of the row in `sso_logouts` */
const messageIdOf = (logoutId: string): string => `_${logoutId}`;

/**
 * Returns the URL that takes a browser to the provider with a signed LogoutRequest (SAML 2.0 Profiles §4.4.3.1, by
 * redirect); null if the provider has no logout URL.
 * @throws SsoRefused `configuration_incomplete`
 */
export async function logoutRequestUrl(
  connection: SsoConnection,
  { logoutId, state, handle: { nameId, sessionIndex } }: Leaving,
  sending: Sending,
): Promise<string | null> {
  const { samlSloUrl: logoutUrl } = connection;
  if (!logoutUrl) return null;
  const profile = {
    issuer: '',
    nameID: nameId.value,
    nameIDFormat: nameId.format,
    ...(nameId.nameQualifier !== null && { nameQualifier: nameId.nameQualifier }),
    ...(nameId.spNameQualifier !== null && { spNameQualifier: nameId.spNameQualifier }),
    ...(sessionIndex !== null && { sessionIndex }),
  };
  const library = await sender(connection, { ...sending, logoutUrl, messageId: messageIdOf(logoutId) });
  return signedUrl(await library.getLogoutUrlAsync(profile, state, {}), connection, sending.key.privateKey);
}

/**
 * Checks a provider's LogoutResponse (SAML 2.0 Profiles §4.4.4.2, Core §3.7.2): it is signed, from the connection's
 * provider, addressed to us, current, in response to our request, and says that the logout succeeded.
 * @throws SsoRefused
 */
export async function verifyLogoutResponse(
  connection: SsoConnection,
  message: LogoutMessage,
  { logoutId, baseUrl, now }: Checking & { logoutId: string },
): Promise<void> {
  const parties = { provider: providerOf(connection), serviceProvider: samlServiceProviderOf(baseUrl, connection.id) };
  const response = await readSigned('LogoutResponse', message, parties.provider);
  assertIssuer(childOf(response, saml, 'Issuer'), parties.provider);
  assertSentTo(parties.serviceProvider.sloUrl, response);
  assertInResponseTo(response, messageIdOf(logoutId));
  const issuedAt = instantOf(response, 'IssueInstant');
  if (!issuedAt) throw new SsoRefused('malformed', 'It lacks the time when it was issued');
  assertPast(issuedAt, 'IssueInstant', now);
  assertSuccess(response);
}

/** Checks the destination, which a signed message has to name (Bindings §3.4.5.2 and §3.5.5.2). */
function assertSentTo(sloUrl: string, { attributes }: XmlElement): void {
  if (attributes.get('Destination') === sloUrl) return;
  throw new SsoRefused('destination_mismatch', `Its Destination is not ${sloUrl}`);
}

async function sender(
  connection: SsoConnection,
  { baseUrl, logoutUrl, messageId }: Pick<Sending, 'baseUrl'> & { logoutUrl: string; messageId?: string },
): Promise<SAML> {
  const { certificates, ssoUrl } = providerOf(connection);
  const { entityId, sloUrl } = samlServiceProviderOf(baseUrl, connection.id);
  const { SAML: Library } = await loadLibrary();
  return new Library({
    idpCert: certificates,
    issuer: entityId,
    callbackUrl: sloUrl,
    entryPoint: ssoUrl,
    logoutUrl,
    ...(messageId && { generateUniqueId: () => messageId }),
  });
}
