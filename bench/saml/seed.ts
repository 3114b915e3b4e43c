import { v7 as uuidv7 } from 'uuid';
import { SsoConnection } from '../../entities/sso-connection.js';
import { SsoLink } from '../../entities/sso-link.js';
import { newSelfSigned } from '../../src/platform/crypto/self-signed.js';
import type { Db } from '../../src/platform/database/db.js';
import type { EnvironmentScope } from '../../src/platform/scope.js';

/** An identity provider that the load simulates. */
export interface SamlSeed {
  connectionId: string;
  issuer: string;
  /** PEM, RSA of 2048 bits. */
  privateKey: string;
}

/** Seeds an active connection to a provider to which everybody is already linked, by their address. */
export async function newSamlSeed(
  db: Db,
  { accountId, environmentId }: EnvironmentScope,
  people: readonly { id: string; email: string }[],
  now: Date,
): Promise<SamlSeed> {
  const day = 86_400_000;
  const validity = { from: new Date(now.getTime() - day), until: new Date(now.getTime() + day), bits: 2048 } as const;
  const { privateKey, certificate } = await newSelfSigned('idp.bench.example', validity);
  const issuer = 'https://idp.bench.example/metadata';
  const connectionId = uuidv7();
  const links = people.map(({ id: identityId, email: subject }) => {
    return {
      id: uuidv7(),
      accountId,
      connectionId,
      subject,
      identityId,
      userId: null,
      createdAt: now,
      lastLoginAt: now,
    };
  });
  await db.transaction('system', async (tx) => {
    await tx.insert(SsoConnection, {
      id: connectionId,
      accountId,
      environmentId,
      organizationId: null,
      scope: 'identity',
      type: 'saml',
      name: 'Bench',
      status: 'active',
      ownedByOrganization: false,
      samlSignatureAlgorithm: 'sha256',
      samlEntityId: issuer,
      samlSsoUrl: 'https://idp.bench.example/sso',
      samlSigningCert: certificate,
      oidcScopes: [],
      createdAt: now,
      updatedAt: now,
    });
    await tx.insert(SsoLink, links);
  });
  return { connectionId, issuer, privateKey };
}
