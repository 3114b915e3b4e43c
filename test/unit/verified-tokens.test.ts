import { errors, type JWTPayload } from 'jose';
import { createVerifiedTokens } from '../../src/domain/oidc/tokens/verified-tokens.js';
import { minutes, seconds } from '../../src/platform/clock.js';

const start = Date.parse('2026-03-01T12:00:00Z');

/** Returns keys that count how often they are used, and know whether a token is valid. */
function world({ expiresIn = minutes(10) } = {}) {
  const keys = { asked: 0, isRight: true };
  let at = start;
  const verified = createVerifiedTokens({
    keys: {
      async verify(): Promise<JWTPayload> {
        keys.asked++;
        if (!keys.isRight) throw new errors.JWSSignatureVerificationFailed();
        return { sub: 'ana', exp: (start + expiresIn) / 1000 };
      },
    },
    audience: 'https://id.example',
    now: () => new Date(at),
  });
  const wait = (ms: number) => {
    at += ms;
  };
  return { keys, verified, wait };
}

test('a token that is presented many times is verified once a minute', async () => {
  const { keys, verified, wait } = world();
  for (let i = 0; i < 6; i++) {
    expect(await verified('a.b.c')).toMatchObject({ sub: 'ana' });
    wait(seconds(12));
  }
  expect(keys.asked).toBe(2);
});

test('tokens are distinguished to the last character', async () => {
  const { keys, verified } = world();
  await verified('a.b.c');
  keys.isRight = false;
  expect(await verified('a.b.d')).toBeNull();
  expect(await verified('a.b.c')).not.toBeNull();
});

test('five thousand tokens are cached, and then all of them are dropped', async () => {
  const { keys, verified } = world();
  for (let i = 0; i < 5000; i++) await verified(`a.${i}.c`);
  await verified('a.0.c');
  expect(keys.asked).toBe(5000);
  await verified('a.5000.c');
  await verified('a.0.c');
  expect(keys.asked).toBe(5002);
});

test('a token is invalid from the second in which it expires, cached or not', async () => {
  const { verified, keys, wait } = world({ expiresIn: seconds(20) });
  await verified('a.b.c');
  wait(seconds(20) - 1);
  expect(await verified('a.b.c')).not.toBeNull();
  wait(1);
  keys.isRight = false; // as the keys themselves say then
  expect(await verified('a.b.c')).toBeNull();
});

test('a key that is not published any more is accepted for at most a minute', async () => {
  const { verified, keys, wait } = world();
  await verified('a.b.c');
  keys.isRight = false;
  wait(minutes(1));
  expect(await verified('a.b.c')).toBeNull();
});

test('a refused token is verified again: its key may be new', async () => {
  const { verified, keys } = world();
  keys.isRight = false;
  expect(await verified('a.b.c')).toBeNull();
  keys.isRight = true;
  expect(await verified('a.b.c')).not.toBeNull();
});

test('a token that cannot be verified for the moment is not refused', async () => {
  const away = new Error('the database is away');
  const verified = createVerifiedTokens({
    keys: { verify: () => Promise.reject(away) },
    audience: 'https://id.example',
    now: () => new Date(start),
  });
  await expect(verified('a.b.c')).rejects.toBe(away);
});

test('a caller who got the claims cannot change them for the next', async () => {
  const { verified } = world();
  const claims = (await verified('a.b.c')) as JWTPayload;
  expect(() => {
    claims.sub = 'another';
  }).toThrow(TypeError);
});
