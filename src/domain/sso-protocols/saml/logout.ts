import type { SAML } from '@node-saml/node-saml';
import type { SsoConnection } from '../../../../entities/sso-connection.js';
import { clockSkewMs, minutes } from '../../../platform/clock.js';
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
import { assertInTime, assertPast, instantOf } from './times.js';
import { childOf, childrenOf, samlNamespaces, type XmlElement } from './xml.js';

const { assertion: saml, protocol } = samlNamespaces;
/** How old a LogoutRequest may be that does not say itself until when it is good. */
const lifeMs = minutes(5);

/** Whose session at the provider has ended. */
export interface LogoutRequest {
  /** Of the message, for its answer. */
  id: string;
  /** As `Assertion.subject` names the person; null: whoever has the session, where the NameID is transient. */
  subject: string | null;
  /** Which of their sessions, as `Assertion.sessionIndex`; none: all. */
  sessionIndexes: string[];
  /** The message works once, and until when it could be tried. */
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
 * Checks a provider's LogoutRequest (SAML 2.0 Profiles §4.4.4.1, Core §3.7.1): signed, from the connection's provider, to us
 * and of now.
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
  const until = instantOf(request, 'NotOnOrAfter') ?? new Date(issuedAt.getTime() + lifeMs);
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
    once: { id, until: new Date(until.getTime() + clockSkewMs) },
  };
}

/**
 * Where a browser takes our answer to a LogoutRequest; null where the provider has no place for it.
 * @param relayState of the request; goes back as it came
 */
export async function logoutResponseUrl(
  connection: SsoConnection,
  { id, relayState }: { id: string; relayState: string | null },
  sending: Sending,
): Promise<string | null> {
  if (!connection.samlSloUrl) return null;
  const answered = { ID: id, issuer: '', nameID: '', nameIDFormat: '' };
  const library = await sender(connection, sending);
  const url = await library.getLogoutResponseUrlAsync(answered, relayState ?? '', {}, true);
  return signedUrl(url, connection, sending.key.privateKey);
}

/** Somebody who leaves their provider: the row of whom it is, and the RelayState. */
export interface Leaving {
  logoutId: string;
  state: string;
  handle: Extract<ProviderHandle, { protocol: 'saml' }>;
}

/** Of the row in `sso_logouts`. */
const messageIdOf = (logoutId: string): string => `_${logoutId}`;

/**
 * The URL that takes a browser to the provider with a signed LogoutRequest (SAML 2.0 Profiles §4.4.3.1, by redirect); null
 * where the provider has no place for it.
 * @throws SsoRefused `configuration_incomplete`
 */
export async function logoutRequestUrl(
  connection: SsoConnection,
  { logoutId, state, handle: { nameId, sessionIndex } }: Leaving,
  sending: Sending,
): Promise<string | null> {
  if (!connection.samlSloUrl) return null;
  const profile = {
    issuer: '',
    nameID: nameId.value,
    nameIDFormat: nameId.format,
    ...(nameId.nameQualifier !== null && { nameQualifier: nameId.nameQualifier }),
    ...(nameId.spNameQualifier !== null && { spNameQualifier: nameId.spNameQualifier }),
    ...(sessionIndex !== null && { sessionIndex }),
  };
  const library = await sender(connection, { ...sending, messageId: messageIdOf(logoutId) });
  return signedUrl(await library.getLogoutUrlAsync(profile, state, {}), connection, sending.key.privateKey);
}

/**
 * Checks a provider's LogoutResponse (SAML 2.0 Profiles §4.4.4.2, Core §3.7.2): signed, from the connection's provider, to us,
 * of now, in answer to our request, and that the person is out.
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

/** A signed message names where it was sent (Bindings §3.4.5.2 and §3.5.5.2). */
function assertSentTo(sloUrl: string, { attributes }: XmlElement): void {
  if (attributes.get('Destination') === sloUrl) return;
  throw new SsoRefused('destination_mismatch', `Its Destination is not ${sloUrl}`);
}

async function sender(
  connection: SsoConnection,
  { baseUrl, messageId }: Pick<Sending, 'baseUrl'> & { messageId?: string },
): Promise<SAML> {
  const { certificates, ssoUrl } = providerOf(connection);
  const { entityId, sloUrl } = samlServiceProviderOf(baseUrl, connection.id);
  const { SAML: Library } = await loadLibrary();
  return new Library({
    idpCert: certificates,
    issuer: entityId,
    callbackUrl: sloUrl,
    entryPoint: ssoUrl,
    logoutUrl: connection.samlSloUrl ?? '',
    ...(messageId && { generateUniqueId: () => messageId }),
  });
}
