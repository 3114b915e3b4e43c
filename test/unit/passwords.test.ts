import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { jest } from '@jest/globals';
import argon2 from 'argon2';
import type { BreachOptions } from '../../src/domain/passwords/breaches.js';
import { createPasswords } from '../../src/domain/passwords/passwords.js';
import { expectEqualTimes } from '../support/equal-times.js';
import { patience } from '../support/patience.js';

const offline = createPasswords({ breachUrl: null });
const rule = { minLength: 8, context: [], field: 'password' };
const sha1 = (text: string) => createHash('sha1').update(text).digest('hex').toUpperCase();

describe('hashes', () => {
  test('are argon2id with the contract’s parameters and never twice the same', async () => {
    const [one, other] = await Promise.all([offline.hash('correct horse'), offline.hash('correct horse')]);
    expect(one).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    expect(other).not.toBe(one);
    expect(offline.needsRehash(one)).toBe(false);
    await expect(offline.verify(one, 'correct horse')).resolves.toBe(true);
    await expect(offline.verify(one, 'correct house')).resolves.toBe(false);
  });

  test('are of the NFKC form: composed, decomposed and compatible characters are one password', async () => {
    const hash = await offline.hash('Gr\u00fc\u00dfe \ufb01nden'); // ü as one character, the ligature fi
    await expect(offline.verify(hash, 'Gru\u0308\u00dfe finden')).resolves.toBe(true);
    await expect(offline.verify(hash, 'Gru\u00dfe finden')).resolves.toBe(false);
  });

  test('of other argon2 parameters verify, and weaker ones request a rehash', async () => {
    const weak = await argon2.hash('imported secret', { memoryCost: 1024, timeCost: 2, parallelism: 1 });
    const argon2i = await argon2.hash('imported secret', { type: argon2.argon2i, memoryCost: 65_536, timeCost: 3 });
    const strong = await argon2.hash('imported secret', { memoryCost: 65_536, timeCost: 3, parallelism: 4 });
    for (const hash of [weak, argon2i, strong])
      await expect(offline.verify(hash, 'imported secret')).resolves.toBe(true);
    expect([weak, argon2i, strong].map(offline.needsRehash)).toEqual([true, true, false]);
  });

  test('that are absent or unreadable match nothing, and take as long as present ones', async () => {
    const hash = await offline.hash('correct horse');
    const refused = async (candidate: string | null) => {
      await expect(offline.verify(candidate, 'wrong horse')).resolves.toBe(false);
    };
    let i = 0;
    await expectEqualTimes(
      () => refused(hash),
      () => refused(i++ % 2 ? null : 'not a hash'),
    );
  });
});

describe('a length', () => {
  const refusal = (code: string) =>
    expect.objectContaining({
      code: 'validation.failed',
      options: { details: [expect.objectContaining({ field: 'password', code })] },
    });

  test('is counted in code points of the NFKC form', async () => {
    await expect(offline.assertAcceptable('🐈🐕🐎🐄🐖🐑🐐🐪', rule)).resolves.toBeUndefined();
    await expect(offline.assertAcceptable('🐈🐕🐎🐄', rule)).rejects.toEqual(refusal('password.too_short')); // 8 UTF-16 units
    await expect(offline.assertAcceptable('u\u0308'.repeat(4), rule)).rejects.toEqual(refusal('password.too_short'));
    await expect(offline.assertAcceptable('\ufb03'.repeat(3), rule)).resolves.toBeUndefined(); // ffi ffi ffi
  });

  test('has the contract’s limits, whatever a setting says', async () => {
    await expect(offline.assertAcceptable('ä'.repeat(128), rule)).resolves.toBeUndefined();
    await expect(offline.assertAcceptable('ä'.repeat(129), rule)).rejects.toEqual(refusal('password.too_long'));
    await expect(offline.assertAcceptable('7chars!', { ...rule, minLength: 1 })).rejects.toEqual(
      refusal('password.too_short'),
    );
    await expect(offline.assertAcceptable('fourteen chars', { ...rule, minLength: 15 })).rejects.toEqual(
      refusal('password.too_short'),
    );
  });
});

test('of a megabyte of combining marks is refused before sorting them, which would block the process for a minute', async () => {
  const endless = `a${'\u0300\u0316'.repeat(500_000)}`;
  const normalize = jest.spyOn(String.prototype, 'normalize');
  try {
    await expect(offline.assertAcceptable(endless, rule)).rejects.toMatchObject({ code: 'validation.failed' });
    await expect(offline.verify(await offline.hash('correct horse'), endless)).resolves.toBe(false);
    const lengths = normalize.mock.contexts.map((text) => String(text).length);
    expect(Math.max(...lengths)).toBeLessThan(2_000);
  } finally {
    normalize.mockRestore();
  }
});

describe('a breach', () => {
  const breached = expect.objectContaining({ code: 'password.breached' });

  test('is found by a range of hashes: five digits are sent, with a request for padding', async () => {
    const seen: IncomingMessage[] = [];
    const { passwords } = await withRangeApi((request, response) => {
      seen.push(request);
      response.end(`${'0'.repeat(35)}:3\r\n${sha1('a breached secret').slice(5)}:42\r\n`);
    });
    await expect(passwords.assertAcceptable('a breached secret', rule)).rejects.toEqual(breached);
    expect(seen).toHaveLength(1);
    expect(seen[0]?.url).toBe(`/range/${sha1('a breached secret').slice(0, 5)}`);
    expect(seen[0]?.headers['add-padding']).toBe('true');
    expect(JSON.stringify([seen[0]?.headers, seen[0]?.rawHeaders])).not.toContain(
      sha1('a breached secret').slice(5, 15),
    );
  });

  test('is not a padded line, nor the line of another hash', async () => {
    const { passwords } = await withRangeApi((_, response) => {
      response.end(`${sha1('padded secret').slice(5)}:0\r\n${'F'.repeat(35)}:9`);
    });
    await expect(passwords.assertAcceptable('padded secret', rule)).resolves.toBeUndefined();
  });

  test('is looked up for the NFKC form, in the first, the last and a lower-case line', async () => {
    for (const line of [
      (suffix: string) => `${suffix}:1\r\n${'A'.repeat(35)}:1`,
      (suffix: string) => `${'A'.repeat(35)}:1\r\n${suffix}:1`,
      (suffix: string) => `${'A'.repeat(35)}:1\n${suffix.toLowerCase()}:1\n`,
    ]) {
      const { passwords } = await withRangeApi((_, response) => response.end(line(sha1('finden wir').slice(5))));
      await expect(passwords.assertAcceptable('\ufb01nden wir', rule)).rejects.toEqual(breached);
    }
  });

  test('is decided by the bundled list when the API is off', async () => {
    await expect(offline.assertAcceptable('password1', rule)).rejects.toEqual(breached);
    await expect(offline.assertAcceptable('ILoveYou', rule)).rejects.toEqual(breached);
    await expect(offline.assertAcceptable('violet tractor 19', rule)).resolves.toBeUndefined();
  });

  test.each([
    [
      'is slow',
      (_: IncomingMessage, response: ServerResponse) => void setTimeout(() => response.end(), 3 * patience).unref(),
    ],
    [
      'stops in the middle',
      (_: IncomingMessage, response: ServerResponse) => {
        response.writeHead(200, { 'content-length': '1000' });
        response.write('0');
      },
    ],
    ['hangs up', (request: IncomingMessage) => void request.socket.destroy()],
    ['answers 503', (_: IncomingMessage, response: ServerResponse) => void response.writeHead(503).end('no')],
    ['never ends', (_: IncomingMessage, response: ServerResponse) => void response.end('0'.repeat(3_000_000))],
  ])('is decided by the bundled list when the API %s', async (_, handler) => {
    const outages: Error[] = [];
    const { passwords } = await withRangeApi(handler, { timeoutMs: 200, onOutage: (error) => outages.push(error) });
    await expect(passwords.assertAcceptable('password1', rule)).rejects.toEqual(breached);
    await expect(passwords.assertAcceptable('violet tractor 19', rule)).resolves.toBeUndefined();
    expect(outages).toHaveLength(1); // the second one was not even sent
    expect(JSON.stringify(outages.map(({ message, stack }) => message + stack))).not.toContain('password1');
  });

  test('check waits once for an unreachable API', async () => {
    let asked = 0;
    const { passwords } = await withRangeApi(() => void asked++, { timeoutMs: 150, pauseMs: 2 * patience });
    for (let i = 0; i < 20; i++) await passwords.assertAcceptable('violet tractor 19', rule);
    expect(asked).toBe(1);
  });

  test('check tries again after a pause', async () => {
    let asked = 0;
    const { passwords } = await withRangeApi(
      (_, response) => {
        asked += 1;
        if (asked > 1) response.end(`${sha1('violet tractor 19').slice(5)}:7`);
      },
      { timeoutMs: 150, pauseMs: 10 },
    );
    await passwords.assertAcceptable('violet tractor 19', rule);
    await new Promise((resolve) => setTimeout(resolve, 20));
    await expect(passwords.assertAcceptable('violet tractor 19', rule)).rejects.toEqual(breached);
    await expect(passwords.assertAcceptable('violet tractor 19', rule)).rejects.toEqual(breached);
    expect(asked).toBe(3);
  });

  test('check answers within its limit if nothing listens', async () => {
    const passwords = createPasswords({ breachUrl: 'http://127.0.0.1:9/range/' });
    const start = performance.now();
    await expect(passwords.assertAcceptable('password1', rule)).rejects.toEqual(breached);
    expect(performance.now() - start).toBeLessThan(patience);
  });
});

const opened: (() => void)[] = [];
afterAll(() => {
  for (const close of opened) close();
});

/** Starts a real range API on loopback that behaves as the handler says. */
async function withRangeApi(
  handler: (request: IncomingMessage, response: ServerResponse) => void,
  options: Partial<BreachOptions> = {},
) {
  const server = createServer(handler);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  opened.push(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return { passwords: createPasswords({ breachUrl: `http://127.0.0.1:${port}/range/`, ...options }) };
}
