import { randomBytes, randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { createLocalJWKSet, decodeProtectedHeader, generateKeyPair, jwtVerify, SignJWT } from 'jose';
import { connectionsInTurn } from '../../../src/domain/limits/connection-turns.js';
import { createSigningKeys, isInvalidToken } from '../../../src/domain/oidc/keys.js';
import { days, hours, minutes, seconds } from '../../../src/platform/clock.js';
import { runInContext, systemActor } from '../../../src/platform/context.js';
import { createSealing } from '../../../src/platform/crypto/sealing.js';
import { projectRoot } from '../../../src/platform/root.js';
import { asOwner, newDatabase, type TestDatabase } from '../../support/database.js';
import { untilWaiting } from '../../support/lock-waits.js';
import { until } from '../../support/until.js';

const issuer = 'https://id.example.com';
const sealing = createSealing([{ id: 'test', key: randomBytes(32) }]);
let database: TestDatabase;
let time: number;
const now = () => new Date(time);
const process = (keyBits?: number) => createSigningKeys({ db: database.db, sealing, issuer, keyBits, now });
const claims = () => ({ sub: 'ana', aud: 'app', iat: time / 1000, exp: time / 1000 + 900 });
const rows = () =>
  asOwner(async (c) => (await c.query('select * from signing_keys order by signs_from')).rows, database.ownerUrl);
const kidOf = async (keys: ReturnType<typeof process>) =>
  decodeProtectedHeader(await keys.sign(claims(), { typ: 'at+jwt' })).kid;

beforeAll(async () => {
  database = await newDatabase();
});
afterAll(() => database.close());
beforeEach(async () => {
  await asOwner((client) => client.query('truncate signing_keys'), database.ownerUrl);
  time = Date.parse('2026-01-01T00:00:00Z');
});

test('the first key is created on demand, once among processes, and its private part is sealed', async () => {
  const all = await Promise.all([process(), process(), process()].map((keys) => keys.jwks()));
  expect(new Set(all.map(({ keys }) => keys[0]?.kid)).size).toBe(1);
  const [row] = await rows();
  expect(row.public_jwk).toMatchObject({ kty: 'RSA', use: 'sig', alg: 'RS256', kid: row.kid });
  expect(row.public_jwk).not.toHaveProperty('d');
  expect(row.private_key_sealed).toMatch(/^test\.[\w-]+$/);
  expect(row.private_key_sealed).not.toContain('PRIVATE KEY');
  expect(sealing.open(row.private_key_sealed, `signing-key/${row.kid}`)).toContain('PRIVATE KEY');
});

test('a process whose clock is behind signs with the first key, though that starts in its future', async () => {
  const kid = await kidOf(process());
  time -= minutes(10);
  const behind = process();
  expect(await kidOf(behind)).toBe(kid);
  expect(await rows()).toHaveLength(1);
});

test('a token of one process is verified by another, and by anyone with the published keys', async () => {
  const token = await process().sign(claims(), { typ: 'at+jwt' });
  await expect(process().verify(token, { typ: 'at+jwt', audience: 'app' })).resolves.toMatchObject({ sub: 'ana' });
  const published = createLocalJWKSet(await process().jwks());
  await expect(jwtVerify(token, published, { issuer, currentDate: now() })).resolves.toBeDefined();
});

test('tokens of another type, audience or issuer, expired, unsigned or of a foreign key are refused', async () => {
  const keys = process();
  const good = await keys.sign(claims(), { typ: 'at+jwt' });
  const { kid } = decodeProtectedHeader(good);
  const foreign = await generateKeyPair('RS256');
  const unsigned = `${Buffer.from('{"alg":"none","typ":"at+jwt"}').toString('base64url')}.${good.split('.')[1]}.`;
  const symmetric = await new SignJWT({ ...claims(), iss: issuer })
    .setProtectedHeader({ alg: 'HS256', typ: 'at+jwt', kid })
    .sign(Buffer.from(JSON.stringify(await keys.jwks())));
  const bad: [string, string][] = [
    ['unsigned', unsigned],
    ['symmetric', symmetric],
    ['another type', await keys.sign(claims(), { typ: 'JWT' })],
    ['another audience', await keys.sign({ ...claims(), aud: 'other' }, { typ: 'at+jwt' })],
    ['another issuer', await keys.sign({ ...claims(), iss: 'https://evil.example' }, { typ: 'at+jwt' })],
    ['expired', await keys.sign({ ...claims(), exp: time / 1000 - 1 }, { typ: 'at+jwt' })],
    [
      'changed',
      good.replace(
        /\.[^.]+\./,
        (payload) => `${payload.slice(0, 5)}${payload[5] === 'A' ? 'B' : 'A'}${payload.slice(6)}`,
      ),
    ],
    ['without its time', await keys.sign({ ...claims(), iat: undefined }, { typ: 'at+jwt' })],
    ['not a token', 'no.token.here'],
    [
      'unknown key',
      await new SignJWT({ ...claims(), iss: issuer })
        .setProtectedHeader({ alg: 'RS256', typ: 'at+jwt', kid: 'unknown' })
        .sign(foreign.privateKey),
    ],
    [
      'foreign key',
      await new SignJWT({ ...claims(), iss: issuer })
        .setProtectedHeader({ alg: 'RS256', typ: 'at+jwt', kid })
        .sign(foreign.privateKey),
    ],
  ];
  for (const [name, token] of bad) {
    const error = await keys.verify(token, { typ: 'at+jwt', audience: 'app' }).catch((thrown) => thrown);
    expect([name, isInvalidToken(error)]).toEqual([name, true]);
  }
});

test('an expired token is accepted only on request', async () => {
  const keys = process();
  const token = await keys.sign(claims(), { typ: 'JWT' });
  time += hours(2);
  await expect(keys.verify(token, { typ: 'JWT' })).rejects.toThrow();
  await expect(keys.verify(token, { typ: 'JWT', acceptExpired: true })).resolves.toMatchObject({ sub: 'ana' });
});

test('rotation does nothing early, publishes a week before signing, and deletes when the last token has expired', async () => {
  const keys = process();
  const first = await kidOf(keys);
  time += days(82);
  expect(await keys.rotate()).toEqual({ created: null });
  time += days(1);
  const { created: second } = await keys.rotate();
  expect(second).toMatch(/^[\w-]{43}$/);
  expect(await keys.rotate()).toEqual({ created: null });
  expect((await keys.jwks()).keys.map(({ kid }) => kid)).toEqual([first, second]);
  expect(await kidOf(keys)).toBe(first);

  time += days(7) - minutes(1);
  const last = await keys.sign({ ...claims(), exp: time / 1000 + 86_400 }, { typ: 'at+jwt' });
  expect(decodeProtectedHeader(last).kid).toBe(first);
  time += minutes(1);
  expect(await kidOf(keys)).toBe(second);
  time += hours(23);
  await expect(keys.verify(last, { typ: 'at+jwt', audience: 'app' })).resolves.toBeDefined();
  time += hours(3);
  expect((await process().jwks()).keys.map(({ kid }) => kid)).toEqual([second]);
  await keys.rotate();
  expect((await keys.jwks()).keys.map(({ kid }) => kid)).toEqual([second]);
  expect(await rows()).toHaveLength(1);
});

test('a new key has an event with the time when it begins to sign', async () => {
  await process().jwks();
  time += days(83);
  const { created } = await process().rotate();
  const events = await asOwner(
    async (c) => (await c.query('select action, metadata from events where resource_id = $1', [created])).rows,
    database.ownerUrl,
  );
  const signsFrom = (await rows())[1].signs_from;
  expect(events).toEqual([{ action: 'signing_key.created', metadata: { signs_from: signsFrom.toISOString() } }]);
});

test('a key that is not published any more verifies nothing, also in a process that read it a moment before', async () => {
  const keys = process();
  const first = await keys.sign(claims(), { typ: 'JWT' });
  time += days(83);
  await keys.rotate();
  time += days(7) + hours(25) - seconds(30);
  await expect(keys.verify(first, { typ: 'JWT', acceptExpired: true })).resolves.toBeDefined();
  time += seconds(30);
  await expect(keys.verify(first, { typ: 'JWT', acceptExpired: true })).rejects.toThrow('no applicable key');
});

test('the published set stays the same object until it changes, even to as many keys', async () => {
  const keys = process();
  const first = await keys.jwks();
  time += minutes(2);
  expect(await keys.jwks()).toBe(first);
  time += days(83);
  await keys.rotate();
  const both = await keys.jwks();
  expect(both.keys).toHaveLength(2);
  time += days(90);
  await process().rotate();
  const next = await keys.jwks();
  expect(next.keys[0]).toEqual(both.keys[1]);
  expect(next.keys[1]).not.toEqual(both.keys[1]);
});

test('signing and verifying query the database once a minute', async () => {
  let asked = 0;
  const counting: typeof database.db = {
    ...database.db,
    statement: (...wanted) => {
      asked++;
      return database.db.statement(...wanted);
    },
  };
  await process().jwks();
  const keys = createSigningKeys({ db: counting, sealing, issuer, now });
  const token = await keys.sign(claims(), { typ: 'JWT' });
  expect(asked).toBe(1);
  time += seconds(59);
  await keys.sign(claims(), { typ: 'JWT' });
  await keys.verify(token, { typ: 'JWT' });
  expect(asked).toBe(1);
  time += seconds(1);
  await keys.sign(claims(), { typ: 'JWT' });
  expect(asked).toBe(2);
});

test('an Account whose statements all wait for locks keeps nobody waiting for the keys', async () => {
  await process().jwks();
  const db = connectionsInTurn(database.db);
  const keys = createSigningKeys({ db, sealing, issuer, now });
  const theirs = <T>(work: () => T): T =>
    runInContext({ correlationId: randomUUID(), actor: systemActor, accountId: 'theirs' }, work);
  const lock = { name: 'test_lock', text: 'select pg_advisory_xact_lock(2212)' };
  const waitOnce = () => [db.statement(lock, []), db.transaction('system', (tx) => tx.query(lock.text))];
  const all = await asOwner(async (client) => {
    await client.query('begin');
    await client.query(lock.text);
    const waiting = theirs(() => [1, 2, 3, 4, 5].flatMap(waitOnce));
    await untilWaiting(database.ownerUrl, 7); // four transactions and three statements: docs/decisions/0114
    let isRead = false;
    const reading = theirs(() => keys.jwks()).then(() => {
      isRead = true;
    });
    try {
      await until('the keys are read', () => isRead);
    } finally {
      await client.query('commit');
    }
    return [...waiting, reading];
  }, database.ownerUrl);
  await Promise.all(all);
});

test('without a rotation the old key signs for another day, in which its successor is published', async () => {
  const keys = process();
  const first = await kidOf(keys);
  time += days(200);
  expect(await kidOf(keys)).toBe(first);
  const [, second] = (await keys.jwks()).keys;
  expect(second).toBeDefined();
  time += hours(24);
  expect(await kidOf(keys)).toBe(second?.kid);
});

test('a missed rotation is made up for as soon as the old key should not sign any more', async () => {
  const keys = process();
  const first = await kidOf(keys);
  time += days(90) + hours(1);
  expect(await kidOf(keys)).toBe(first);
  expect((await keys.jwks()).keys).toHaveLength(2);
});

test('a configured size applies to the next key, which is published beside a smaller one and can be created early', async () => {
  const before = process();
  const smaller = await before.sign(claims(), { typ: 'at+jwt' });
  const keys = process(3072);
  time += days(10);
  expect(await keys.rotate()).toEqual({ created: null });
  expect(await kidOf(keys)).toBe(decodeProtectedHeader(smaller).kid);

  const [sooner] =
    /^update signing_keys .*$/m.exec(await readFile(join(projectRoot, 'docs/operations.md'), 'utf8')) ?? [];
  await asOwner(
    (client) => client.query(String(sooner).replaceAll('now()', `timestamptz '${now().toISOString()}'`)),
    database.ownerUrl,
  );
  const { created } = await keys.rotate();
  time += days(7);
  const larger = await keys.sign({ ...claims(), iat: time / 1000, exp: time / 1000 + 900 }, { typ: 'at+jwt' });
  expect(decodeProtectedHeader(larger).kid).toBe(created);

  const { keys: published } = await keys.jwks();
  expect(published.map(({ n = '' }) => Buffer.from(n, 'base64url').length * 8)).toEqual([2048, 3072]);
  const verify = (token: string, at: number) =>
    jwtVerify(token, createLocalJWKSet({ keys: published }), {
      issuer,
      algorithms: ['RS256'],
      currentDate: new Date(at),
    });
  await expect(verify(smaller, time - days(17))).resolves.toBeDefined();
  await expect(verify(larger, time)).resolves.toBeDefined();
  // A process with another setting accepts both, too.
  await expect(process(2048).verify(larger, { typ: 'at+jwt', audience: 'app' })).resolves.toBeDefined();
});

test('parallel rotations create one key', async () => {
  await process().jwks();
  time += days(85);
  const made = await Promise.all([process(), process(), process(), process()].map((keys) => keys.rotate()));
  expect(made.filter(({ created }) => created !== null)).toHaveLength(1);
});

test("a process finds another one's key at the first token of it, but does not query for every unknown one", async () => {
  const [one, other] = [process(), process()];
  await Promise.all([one.jwks(), other.jwks()]);
  time += days(83);
  await Promise.all([one.jwks(), other.jwks()]);
  await one.rotate();
  const { kid } = (await one.jwks()).keys[1] as { kid: string };
  expect((await other.jwks()).keys.map((key) => key.kid)).not.toContain(kid);
  time += days(7);
  const token = await one.sign(claims(), { typ: 'at+jwt' });
  await expect(other.verify(token, { typ: 'at+jwt', audience: 'app' })).resolves.toBeDefined();
});

test('no token may outlive its key', async () => {
  await expect(process().sign({ ...claims(), exp: time / 1000 + 90_000 }, { typ: 'JWT' })).rejects.toThrow(RangeError);
  await expect(process().sign({ sub: 'ana' }, { typ: 'JWT' })).rejects.toThrow(RangeError);
});

test('a process whose clock is days ahead deletes no key that still signs', async () => {
  time = Date.now() - days(90) + hours(1);
  const first = await kidOf(process());
  time += days(83);
  await process().rotate();
  time = Date.now() + days(3);
  await process().rotate();
  time = Date.now();
  expect(await kidOf(process())).toBe(first);
});
