import { inflateRawSync } from 'node:zlib';
import type { SsoConnection } from '../../../entities/sso-connection.js';
import { SsoSigningKey } from '../../../entities/sso-signing-key.js';
import { connectionKeyContext } from '../../../src/domain/sso-protocols/signing-keys.js';
import type { Clock } from '../../../src/platform/clock.js';
import type { Sealing } from '../../../src/platform/crypto/sealing.js';
import type { Db } from '../../../src/platform/database/db.js';
import { newProviderKey, type ProviderKey, partsOf, posted, type ResponseParts, signedResponse } from './provider.js';

/** Creates a provider that signs in anybody whom a test names. */
export async function newSamlProvider(issuer = 'https://idp.acme.example/metadata') {
  const key = await newProviderKey();
  /** The settings of a connection to it. */
  const fields = {
    type: 'saml',
    samlEntityId: issuer,
    samlSsoUrl: 'https://idp.acme.example/sso',
    samlSloUrl: 'https://idp.acme.example/slo',
    samlSigningCert: key.certificate,
    oidcDiscoveryUrl: null,
    oidcClientId: null,
    oidcClientSecretSealed: null,
    oidcScopes: [],
  } satisfies Partial<SsoConnection>;
  return { issuer, key, fields };
}
export type SamlProvider = Awaited<ReturnType<typeof newSamlProvider>>;

let ours: Promise<ProviderKey> | undefined;
/** Gives a connection the key that signs our requests. All share one: generating a key for each takes a while. */
export async function giveSigningKey(
  { db, sealing, now }: { db: Db; sealing: Pick<Sealing, 'seal'>; now: Clock },
  { id: connectionId, accountId }: Pick<SsoConnection, 'id' | 'accountId'>,
): Promise<void> {
  ours ??= newProviderKey();
  const { privateKey, certificate } = await ours;
  const privateKeySealed = sealing.seal(privateKey, connectionKeyContext(connectionId));
  await db.transaction('system', (tx) =>
    tx.insert(SsoSigningKey, { connectionId, accountId, certificate, privateKeySealed, createdAt: now() }),
  );
}

/** Returns our request from the URL that sends a browser to the provider. */
export function askedIn(url: string) {
  const { searchParams } = new URL(url);
  const xml = inflateRawSync(Buffer.from(searchParams.get('SAMLRequest') ?? '', 'base64')).toString();
  const attribute = (name: string) => new RegExp(`${name}="([^"]+)"`).exec(xml)?.[1] ?? '';
  return {
    xml,
    id: attribute('ID'),
    acsUrl: attribute('AssertionConsumerServiceURL'),
    entityId: /Issuer[^>]*>([^<]+)</.exec(xml)?.[1] ?? '',
    relayState: searchParams.get('RelayState') ?? '',
  };
}

/** Returns the form that the browser posts for the provider: an honest answer, with `changes`. */
export function answerTo(
  url: string,
  { issuer, key }: { issuer: string; key: ProviderKey },
  now: Date,
  changes: Partial<ResponseParts> = {},
  respond: (parts: ResponseParts, key: ProviderKey) => string = signedResponse,
) {
  const { id, acsUrl, entityId, relayState } = askedIn(url);
  const parts = partsOf({ issuer, acsUrl, audience: entityId, inResponseTo: id, now }, changes);
  return {
    path: new URL(acsUrl).pathname,
    form: { SAMLResponse: posted(respond(parts, key)), RelayState: relayState },
  };
}
