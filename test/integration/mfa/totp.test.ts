import { randomBytes, randomUUID } from 'node:crypto';
import { Account } from '../../../entities/account.js';
import { Identity } from '../../../entities/identity.js';
import { MfaFactor } from '../../../entities/mfa-factor.js';
import { createTotp, totpSecretContext } from '../../../src/domain/mfa/codes/totp.js';
import { createSealing } from '../../../src/platform/crypto/sealing.js';
import { newDatabase, type TestDatabase } from '../../support/database.js';
import { totpCode } from '../../support/mfa.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await newDatabase({ poolSize: 10 });
});
afterAll(() => database.close());

const sealing = createSealing([{ id: 'test', key: randomBytes(32) }]);
/** "12345678901234567890", the secret of RFC 6238's appendix B. */
const rfcSecret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';
let time = 0;
const now = () => new Date(time * 1000);

async function newPerson(secrets: string[]) {
  const { db } = database;
  const [accountId, environmentId, identityId] = [randomUUID(), randomUUID(), randomUUID()];
  const times = { createdAt: now(), updatedAt: now() };
  await db.transaction('system', async (tx) => {
    await tx.insert(Account, { id: accountId, name: 'Acme', slug: accountId, ...times });
    await tx.insert(Identity, {
      id: identityId,
      accountId,
      email: `${identityId}@example.com`,
      metadata: {},
      ...times,
    });
    for (const secret of secrets) {
      const id = randomUUID();
      const sealed = sealing.seal(secret, totpSecretContext(id));
      await tx.insert(MfaFactor, {
        id,
        accountId,
        identityId,
        type: 'totp',
        label: 'App',
        secret: sealed,
        lastUsedStep: '0',
        enrolledAt: now(),
      });
    }
  });
  const totp = createTotp({ db, sealing, now });
  return {
    accountId,
    identityId,
    verify: (code: string, of = { accountId }) => totp.verify({ ...of, environmentId }, identityId, code, db),
  };
}

test.each([
  [59, '287082'],
  [1111111109, '081804'],
  [1111111111, '050471'],
  [1234567890, '005924'],
  [2000000000, '279037'],
  [20000000000, '353130'],
])('at %d seconds the code of RFC 6238, appendix B, is accepted, and only once', async (at, code) => {
  time = at;
  const { verify } = await newPerson([rfcSecret]);
  expect(await verify(code)).toBe(true);
  expect(await verify(code)).toBe(false);
});

test('a clock that is set back accepts no used code, nor an earlier one', async () => {
  time = 2_000_000_010;
  const { verify } = await newPerson([rfcSecret]);
  const [before, used] = [-30, 0].map((seconds) => totpCode(rfcSecret, new Date((time + seconds) * 1000)));
  expect(await verify(used ?? '')).toBe(true);
  time -= 30;
  expect(await verify(before ?? '')).toBe(false);
  expect(await verify(used ?? '')).toBe(false);
});

test('one of many parallel requests with one time step succeeds', async () => {
  time = 2_000_000_100;
  const { verify } = await newPerson([rfcSecret]);
  const answers = await Promise.all(Array.from({ length: 20 }, () => verify(totpCode(rfcSecret, now()))));
  expect(answers.filter(Boolean)).toHaveLength(1);
});

test('each of several apps works, with its own steps', async () => {
  time = 2_000_000_200;
  const other = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP';
  const { verify } = await newPerson([rfcSecret, other]);
  expect(await verify(totpCode(other, now()))).toBe(true);
  expect(await verify(totpCode(rfcSecret, now()))).toBe(true);
  expect(await verify(totpCode(other, now()))).toBe(false);
});

test('another account’s scope finds no factor', async () => {
  time = 2_000_000_300;
  const { verify } = await newPerson([rfcSecret]);
  const { accountId } = await newPerson([]);
  expect(await verify(totpCode(rfcSecret, now()), { accountId })).toBe(false);
  expect(await verify(totpCode(rfcSecret, now()))).toBe(true);
});

test('a secret that was moved to another row cannot be opened', async () => {
  time = 2_000_000_400;
  const { accountId, identityId, verify } = await newPerson([rfcSecret]);
  await database.db.transaction('system', (tx) =>
    tx.update(
      MfaFactor,
      { accountId, identityId },
      { secret: sealing.seal(rfcSecret, totpSecretContext(randomUUID())) },
    ),
  );
  await expect(verify(totpCode(rfcSecret, now()))).rejects.toThrow();
});
