import { randomBytes } from 'node:crypto';
import { createSigningKeys } from '../../src/domain/oidc/keys.js';
import { createSealing } from '../../src/platform/crypto/sealing.js';
import { newDatabase, type TestDatabase } from '../support/database.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await newDatabase();
});
afterAll(() => database.close());

test('after a new master key and a re-encryption the old one can be taken away', async () => {
  const { db } = database;
  const [old, fresh] = [
    { id: 'old', key: randomBytes(32) },
    { id: 'fresh', key: randomBytes(32) },
  ];
  const issuer = 'http://localhost:3000';
  const keysUnder = (...masterKeys: { id: string; key: Buffer }[]) =>
    createSigningKeys({ db, sealing: createSealing(masterKeys), issuer, now: () => new Date() });
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
