import { randomUUID } from 'node:crypto';
import type { SsoConnection } from '../../../entities/sso-connection.js';
import { createSamlProtocol } from '../../../src/domain/sso-protocols/saml/protocol.js';
import { samlServiceProviderOf } from '../../../src/domain/sso-protocols/saml/settings.js';
import { asOurs, newProviderKey, partsOf, type ResponseParts } from './provider.js';

export interface Answered {
  as?: Partial<SsoConnection>;
  requestId?: string | null;
}

/** Creates the service as a provider sees it: one connection, one open request, one moment. */
export async function newSamlReceiver() {
  const baseUrl = 'https://id.gatehouse.example';
  const now = new Date('2026-11-22T10:00:00.000Z');
  const requestId = randomUUID();
  const [key, other, ours] = await Promise.all([newProviderKey(), newProviderKey(), newProviderKey()]);
  const connection = {
    id: randomUUID(),
    type: 'saml',
    samlEntityId: 'https://idp.acme.example/metadata',
    samlSsoUrl: 'https://idp.acme.example/sso?tenant=1',
    samlSigningCert: key.certificate,
    samlWantAssertionsSigned: true,
    samlAllowIdpInitiated: false,
    attributeMapping: {},
  } as SsoConnection & { samlEntityId: string };
  const issuer = connection.samlEntityId;
  const { acsUrl, entityId } = samlServiceProviderOf(baseUrl, connection.id);
  const protocol = createSamlProtocol({ baseUrl, keyOf: async () => asOurs(ours), now: () => now });
  return {
    issuer,
    /** Our entity id, which is the audience of the provider's assertions. */
    entityId,
    requestId,
    /** The provider's key, and another party's. */
    key,
    other,
    /** The connection's own key. */
    ours,
    later: (ms: number) => new Date(now.getTime() + ms),
    /** Returns the parts of an honest provider's answer, with `changes`. */
    parts: (changes: Partial<ResponseParts> = {}): ResponseParts =>
      partsOf({ issuer, acsUrl, audience: entityId, inResponseTo: `_${requestId}`, now }, changes),
    /** @param samlResponse as it is posted */
    verify: (samlResponse: string, { as = {}, requestId: asked = requestId }: Answered = {}) =>
      protocol.verify({ ...connection, ...as }, { samlResponse, expects: { requestId: asked } }),
  };
}
export type SamlReceiver = Awaited<ReturnType<typeof newSamlReceiver>>;
