import { errors, exportJWK, generateKeyPair, type JWTVerifyGetKey, SignJWT } from 'jose';
import { createClientAssertions } from '../../src/domain/oidc/clients/assertions.js';
import { type Client, createClients } from '../../src/domain/oidc/clients/clients.js';
import { createClientKeys } from '../../src/domain/oidc/clients/keys.js';
import { createRequestedOrganizations } from '../../src/domain/oidc/requests/requested-organization.js';
import { minutes, seconds } from '../../src/platform/clock.js';
import { OutboundError } from '../../src/platform/outbound/errors.js';
import { answering } from '../support/answering.js';

let time = Date.parse('2026-03-01T12:00:00Z');
const now = () => new Date(time);

describe('a client that a process caches', () => {
  /** Replaces the database: returns what the test puts into it, and counts queries. */
  function world() {
    const known = new Map<string, object | Promise<object>>();
    const asked: string[] = [];
    const db = {
      async statement(_: unknown, [clientId]: string[]) {
        asked.push(clientId as string);
        const row = await known.get(clientId as string);
        return row ? [row] : [];
      },
    };
    return { known, asked, clients: createClients({ db: db as never, now }) };
  }

  test('is queried once a second, and a change applies after that, whichever way the clock went', async () => {
    const { known, asked, clients } = world();
    known.set('web', { name: 'Web' });
    await clients.find('web');
    known.set('web', { name: 'Shop' });
    time += seconds(1) - 1;
    expect(await clients.find('web')).toEqual({ name: 'Web' });
    time += 1;
    expect(await clients.find('web')).toEqual({ name: 'Shop' });
    expect(asked).toEqual(['web', 'web']);
    time -= seconds(1);
    await clients.find('web');
    expect(asked).toHaveLength(3);
  });

  test('is not cached if it is unknown, or could not be read', async () => {
    const { known, asked, clients } = world();
    expect(await clients.find('web')).toBeNull();
    known.set('web', Promise.reject(new Error('no database')));
    await expect(clients.find('web')).rejects.toThrow('no database');
    known.set('web', { name: 'Web' });
    expect(await clients.find('web')).toEqual({ name: 'Web' });
    expect(asked).toHaveLength(3);
  });

  test('is not replaced by an older answer that arrives later', async () => {
    const { known, asked, clients } = world();
    let answer = (_: object) => {};
    known.set(
      'web',
      new Promise<object>((resolve) => {
        answer = resolve;
      }),
    );
    const slow = clients.find('web');
    time += seconds(2);
    known.set('web', { name: 'Web' });
    await clients.find('web');
    answer(undefined as never);
    expect(await slow).toBeNull();
    await clients.find('web');
    expect(asked).toHaveLength(2);
  });

  test('is one of at most a thousand; then all of them are dropped', async () => {
    const { known, asked, clients } = world();
    for (let i = 0; i <= 1000; i++) known.set(`c${i}`, {});
    for (let i = 0; i < 1000; i++) await clients.find(`c${i}`);
    await clients.find('c0');
    expect(asked).toHaveLength(1000);
    await clients.find('c1000');
    await clients.find('c0');
    expect(asked).toHaveLength(1002);
  });

  test.each(['', 'a b', 'web\u0000', 'wéb', 'web\n', '\nweb', 'x'.repeat(201)])(
    'is not queried for an impossible client_id: %j',
    async (id) => {
      const { asked, clients } = world();
      expect(await clients.find(id)).toBeNull();
      expect(asked).toEqual([]);
      await clients.find('x'.repeat(200));
      expect(asked).toHaveLength(1);
    },
  );
});

describe('the keys of a client', () => {
  const uri = 'https://app.example/jwks';
  const served = async (...kids: (string | undefined)[]) =>
    Promise.all(
      kids.map(async (kid) => ({
        ...(await exportJWK((await generateKeyPair('ES256')).publicKey)),
        ...(kid && { kid }),
      })),
    ).then((keys) => ({ status: 200, body: Buffer.from(JSON.stringify({ keys })) }));
  const header = (kid?: string) => ({ alg: 'ES256', ...(kid && { kid }) });
  const shown = {} as Parameters<JWTVerifyGetKey>[1];
  const at = (jwksUri: string | null) => ({ jwks: null, jwksUri }) as Client;

  function world(get: (url: string, headers: object) => Promise<object>) {
    const asked: unknown[][] = [];
    const outbound = {
      get(...of: [string, object]) {
        asked.push(of);
        return get(...of);
      },
    };
    return { asked, keys: createClientKeys({ outbound: outbound as never, now }) };
  }

  test('are fetched as JSON, and again after five minutes', async () => {
    const answer = await served('k1');
    const { asked, keys } = world(async () => answer);
    await keys.of(at(uri));
    time += minutes(5) - 1;
    await keys.of(at(uri));
    expect(asked).toEqual([[uri, { accept: 'application/json' }]]);
    time += 1;
    await keys.of(at(uri));
    expect(asked).toHaveLength(2);
  });

  test('are fetched again for an unknown one, and not for two that fit', async () => {
    const answer = await served(undefined, undefined);
    const { asked, keys } = world(async () => answer);
    const find = await keys.of(at(uri));
    time += minutes(1);
    await expect(find(header(), shown)).rejects.toThrow(errors.JWKSMultipleMatchingKeys);
    expect(asked).toHaveLength(1);
    await expect(find(header('k1'), shown)).rejects.toThrow(errors.JWKSNoMatchingKey);
    expect(asked).toHaveLength(2);
    time += seconds(10) - 1;
    await expect(find(header('k1'), shown)).rejects.toThrow();
    expect(asked).toHaveLength(2);
    time += 1;
    await expect(find(header('k1'), shown)).rejects.toThrow();
    expect(asked).toHaveLength(3);
  });

  test('of a thousand addresses are cached; then all of them are dropped', async () => {
    const answer = await served('k1');
    const { asked, keys } = world(async () => answer);
    for (let i = 0; i < 1000; i++) await keys.of(at(`${uri}/${i}`));
    await keys.of(at(`${uri}/0`));
    expect(asked).toHaveLength(1000);
    await keys.of(at(`${uri}/1000`));
    await keys.of(at(`${uri}/0`));
    expect(asked).toHaveLength(1002);
  });

  test('that cannot be fetched are the client’s fault, and another error stays one', async () => {
    const { body } = await served('k1');
    const unreadable = { code: 'invalid_client', message: "the client's keys cannot be read" };
    const bad: (() => Promise<object>)[] = [
      async () => ({ status: 404, body }),
      async () => ({ status: 200, body: Buffer.from('<html>') }),
      async () => ({ status: 200, body: Buffer.from('{}') }),
      () => Promise.reject(new OutboundError('address', uri)),
    ];
    for (const get of bad) await expect(world(get).keys.of(at(uri))).rejects.toMatchObject(unreadable);
    const { keys, asked } = world(async () => ({ status: 200, body }));
    await expect(keys.of(at(null))).rejects.toMatchObject(unreadable);
    expect(asked).toEqual([]);
    const fault = new Error('no sockets');
    await expect(world(() => Promise.reject(fault)).keys.of(at(uri))).rejects.toBe(fault);
  });

  test('that cannot be queried now refuse nobody', async () => {
    const fault = new Error('no sockets');
    const keys = async () => {
      throw fault;
    };
    const { privateKey } = await generateKeyPair('ES256');
    const assertion = await new SignJWT({}).setProtectedHeader({ alg: 'ES256' }).sign(privateKey);
    const baseUrl = 'https://id.example.com';
    const assertions = createClientAssertions({ ...answering(), clientKeys: { of: async () => keys }, baseUrl, now });
    await expect(assertions.assertValid({ clientId: 'web' } as Client, assertion)).rejects.toBe(fault);
  });
});

test('an organization is looked up by its id, or else by its slug of at most a hundred characters', async () => {
  const organization = { id: 'o', policy: { allowed_methods: null, require_sso: false } };
  const { db, asked } = answering([organization]);
  const find = createRequestedOrganizations({ db });
  const id = '0190d0a0-0000-7000-8000-00000000000A';
  for (const named of [id, `${id}b`, `x${id}`, 'x'.repeat(100)]) await find('production', named);
  expect(asked.map(({ name }) => name.replace('requested_organization_by_', ''))).toEqual([
    'id',
    'slug',
    'slug',
    'slug',
  ]);
  await expect(find('production', 'x'.repeat(101))).rejects.toThrow('organization is unknown');
  expect(asked).toHaveLength(4);
});
