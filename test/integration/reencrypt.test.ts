import { createPublicKey, randomBytes, randomUUID, X509Certificate } from 'node:crypto';
import { Account } from '../../entities/account.js';
import { Identity } from '../../entities/identity.js';
import { MfaFactor } from '../../entities/mfa-factor.js';
import { SsoConnection } from '../../entities/sso-connection.js';
import { User } from '../../entities/user.js';
import { UserMfaFactor } from '../../entities/user-mfa-factor.js';
import { Webhook } from '../../entities/webhook.js';
import { resealUserFactors } from '../../src/domain/admin-mfa/reseal.js';
import { createUserTotp, userSecretContext } from '../../src/domain/admin-mfa/totp.js';
import { createTotp, totpSecretContext } from '../../src/domain/mfa/codes/totp.js';
import { resealFactors } from '../../src/domain/mfa/reseal.js';
import { createSigningKeys } from '../../src/domain/oidc/keys.js';
import { resealConnections } from '../../src/domain/sso-connections/reseal.js';
import { clientSecretContext, clientSecretOf } from '../../src/domain/sso-connections/secrets.js';
import { createSsoSigningKeys } from '../../src/domain/sso-protocols/signing-keys.js';
import { resealWebhooks } from '../../src/domain/webhooks/reseal.js';
import { webhookSecretContext as webhookContext } from '../../src/domain/webhooks/secrets.js';
import type { MasterKey } from '../../src/platform/crypto/master-keys.js';
import { createSealing } from '../../src/platform/crypto/sealing.js';
import { newDatabase, type TestDatabase } from '../support/database.js';
import { totpCode } from '../support/mfa.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await newDatabase();
});
afterAll(() => database.close());

/** The master key under which everything is sealed, and its replacement. */
const [old, fresh] = ['old', 'fresh'].map((id) => ({ id, key: randomBytes(32) })) as [MasterKey, MasterKey];
const under = (...masterKeys: MasterKey[]) => createSealing(masterKeys);

test('after a new master key and a re-encryption the old one can be removed', async () => {
  const { db } = database;
  const issuer = 'http://localhost:3000';
  const keysUnder = (...masterKeys: MasterKey[]) =>
    createSigningKeys({ db, sealing: under(...masterKeys), issuer, now: () => new Date() });
  const token = (keys: ReturnType<typeof keysUnder>) =>
    keys.sign(
      { sub: 'x', exp: Math.floor(Date.now() / 1000) + 60, iat: Math.floor(Date.now() / 1000) },
      { typ: 'JWT' },
    );

  await token(keysUnder(old));
  await expect(token(keysUnder(fresh))).rejects.toThrow('master key old is not configured');
  expect(await keysUnder(fresh, old).reseal()).toBe(1);
  expect(await keysUnder(fresh, old).reseal()).toBe(0);
  await keysUnder(fresh).verify(await token(keysUnder(fresh)), { typ: 'JWT' });
});

test('secrets of authenticator apps are encrypted anew', async () => {
  const { db } = database;
  const at = new Date();
  const totpUnder = (...masterKeys: MasterKey[]) => createTotp({ db, sealing: under(...masterKeys), now: () => at });
  const [accountId, environmentId] = [randomUUID(), randomUUID()];
  const [identityId, factorId] = [randomUUID(), randomUUID()];
  const secret = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP';
  await db.transaction('system', async (tx) => {
    const times = { createdAt: at, updatedAt: at };
    await tx.insert(Account, { id: accountId, name: 'Acme', slug: accountId, ...times });
    await tx.insert(Identity, { id: identityId, accountId, email: 'ana@example.com', metadata: {}, ...times });
    await tx.insert(MfaFactor, {
      id: factorId,
      accountId,
      identityId,
      type: 'totp',
      label: 'App',
      enrolledAt: at,
      lastUsedStep: '0',
      secret: under(old).seal(secret, totpSecretContext(factorId)),
    });
  });
  const code = totpCode(secret, at);
  await expect(totpUnder(fresh).verify({ accountId, environmentId }, identityId, code, db)).rejects.toThrow(
    'old is not configured',
  );
  expect(await resealFactors({ db, sealing: under(fresh, old) })).toBe(1);
  expect(await resealFactors({ db, sealing: under(fresh, old) })).toBe(0);
  expect(await totpUnder(fresh).verify({ accountId, environmentId }, identityId, code, db)).toBe(true);
});

test('signing secrets of webhooks are encrypted anew, also those before a rotation', async () => {
  const { db } = database;
  const [accountId, id] = [randomUUID(), randomUUID()];
  const sealed = (text: string) => under(old).seal(text, webhookContext(id));
  await db.transaction('system', async (tx) => {
    const times = { createdAt: new Date(), updatedAt: new Date() };
    await tx.insert(Account, { id: accountId, name: 'Acme', slug: accountId, ...times });
    await tx.insert(Webhook, {
      id,
      accountId,
      url: 'https://receiver.example/',
      eventTypes: ['*'],
      isActive: true,
      ...times,
      secret: sealed('new'),
      previousSecret: sealed('previous'),
      previousSecretUntil: new Date(),
    });
  });
  expect(await resealWebhooks({ db, sealing: under(fresh, old) })).toBe(2);
  expect(await resealWebhooks({ db, sealing: under(fresh, old) })).toBe(0);
  const { secret, previousSecret } = await db.transaction('system', (tx) => tx.findOneByOrFail(Webhook, { id }));
  const opened = [secret, previousSecret].map((text) => under(fresh).open(text as string, webhookContext(id)));
  expect(opened).toEqual(['new', 'previous']);
});

test('more secrets than one transaction takes are encrypted anew', async () => {
  const { db } = database;
  const accountId = randomUUID();
  const times = { createdAt: new Date(), updatedAt: new Date() };
  const common = { accountId, url: 'https://receiver.example/', eventTypes: ['*'], isActive: true, ...times };
  const ids = Array.from({ length: 501 }, () => randomUUID());
  const sealed = (id: string) => under(old).seal(id, webhookContext(id));
  await db.transaction('system', async (tx) => {
    await tx.insert(Account, { id: accountId, name: 'Many', slug: accountId, ...times });
    await tx.insert(
      Webhook,
      ids.map((id) => ({ id, secret: sealed(id), ...common })),
    );
  });
  expect(await resealWebhooks({ db, sealing: under(fresh, old) })).toBe(ids.length);
  const webhooks = await db.transaction('system', (tx) => tx.findBy(Webhook, { accountId }));
  const opened = webhooks.map(({ id, secret }) => under(fresh).open(secret, webhookContext(id)));
  expect(opened.sort()).toEqual(ids.sort());
});

test('client secrets for OpenID providers are encrypted anew', async () => {
  const { db } = database;
  const [accountId, id] = [randomUUID(), randomUUID()];
  const times = { createdAt: new Date(), updatedAt: new Date() };
  await db.transaction('system', async (tx) => {
    await tx.insert(Account, { id: accountId, name: 'Acme', slug: accountId, ...times });
    await tx.insert(SsoConnection, {
      id,
      accountId,
      scope: 'admin',
      type: 'oidc',
      name: 'Acme',
      status: 'configuring',
      ...times,
      ownedByOrganization: false,
      oidcScopes: ['openid'],
      oidcClientSecretSealed: under(old).seal('secret', clientSecretContext(id)),
    });
  });
  expect(await resealConnections({ db, sealing: under(fresh, old) })).toBe(1);
  expect(await resealConnections({ db, sealing: under(fresh, old) })).toBe(0);
  const connection = await db.transaction('system', (tx) => tx.findOneByOrFail(SsoConnection, { id }));
  expect(clientSecretOf(under(fresh), connection)).toBe('secret');
});

test('keys that sign SAML messages are encrypted anew; a connection keeps one', async () => {
  const { db } = database;
  const keysUnder = (...masterKeys: MasterKey[]) =>
    createSsoSigningKeys({ db, sealing: under(...masterKeys), now: () => new Date() });
  const accountId = randomUUID();
  const times = { createdAt: new Date(), updatedAt: new Date() };
  const row = {
    id: randomUUID(),
    accountId,
    scope: 'admin',
    type: 'saml',
    name: 'Acme',
    status: 'configuring',
  } as const;
  const connection = await db.transaction('system', async (tx) => {
    await tx.insert(Account, { id: accountId, name: 'Acme', slug: accountId, ...times });
    await tx.insert(SsoConnection, { ...row, ownedByOrganization: false, oidcScopes: [], ...times });
    return tx.findOneByOrFail(SsoConnection, { id: row.id });
  });
  const made = await Promise.all([keysUnder(old).keyOf(connection), keysUnder(old).keyOf(connection)]);
  expect(made[0]).toEqual(made[1]);
  expect(createPublicKey(made[0].privateKey).equals(new X509Certificate(made[0].certificate).publicKey)).toBe(true);
  await expect(keysUnder(fresh).keyOf(connection)).rejects.toThrow('old is not configured');
  expect(await keysUnder(fresh, old).reseal()).toBe(1);
  expect(await keysUnder(fresh, old).reseal()).toBe(0);
  expect(await keysUnder(fresh).keyOf(connection)).toEqual(made[0]);
});

test("secrets of administrators' apps are encrypted anew", async () => {
  const { db } = database;
  const at = new Date();
  const [userId, factorId] = [randomUUID(), randomUUID()];
  const secret = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP';
  const names = { email: `${userId}@example.com`, firstName: 'Ana', lastName: 'Brandt' };
  await db.transaction('system', async (tx) => {
    await tx.insert(User, { id: userId, ...names, createdAt: at, updatedAt: at });
    await tx.insert(UserMfaFactor, {
      id: factorId,
      userId,
      type: 'totp',
      label: 'App',
      enrolledAt: at,
      lastUsedStep: '0',
      secret: under(old).seal(secret, userSecretContext(factorId)),
    });
  });
  expect(await resealUserFactors({ db, sealing: under(fresh, old) })).toBe(1);
  expect(await resealUserFactors({ db, sealing: under(fresh, old) })).toBe(0);
  const totp = createUserTotp({ sealing: under(fresh), totpDriftSteps: 1, now: () => at });
  expect(await totp.verify(userId, totpCode(secret, at), db)).toBe(true);
});
