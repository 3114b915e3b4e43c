import { generateKeyPair } from 'node:crypto';
import { promisify } from 'node:util';
import { jwtVerify } from 'jose';
import { signJwt } from '../../src/platform/crypto/jws.js';

test('a signed JWT verifies by its key alone, and has its header and claims', async () => {
  const [one, other] = await Promise.all([1, 2].map(() => promisify(generateKeyPair)('rsa', { modulusLength: 2048 })));
  if (!one || !other) throw new Error('no keys');
  const token = await signJwt({ sub: 'Grüße' }, { kid: 'k1', key: one.privateKey, typ: 'at+jwt' });
  const { payload, protectedHeader } = await jwtVerify(token, one.publicKey);
  expect([payload, protectedHeader]).toEqual([{ sub: 'Grüße' }, { alg: 'RS256', typ: 'at+jwt', kid: 'k1' }]);
  await expect(jwtVerify(token, other.publicKey)).rejects.toThrow('signature verification failed');
});
