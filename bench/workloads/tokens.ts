import type { Operation } from '../closed-loop.js';
import { expectContent, jsonOf } from '../connection.js';
import type { Seed } from '../seed.js';
import { clientFields, clientHeaders, signIn, signInByCode, type Tokens } from './sign-in.js';
import type { WorkerContext, Workload } from './workload.js';

type ClientKind = 'publicClient' | 'confidentialClient';

/** @param scope the requested scope; without `openid` the answer has no ID token, which saves one signature */
const refresh = (name: string, about: string, kind: ClientKind, scope?: string): Workload => ({
  name,
  about,
  limit: 'signatures',
  uses: scope ? 1 : 2,
  async prepare({ index, connection, seed, holders }) {
    const client = seed[kind];
    const tokens = await holders.of(client, index);
    const headers = clientHeaders(client);
    const fields = { grant_type: 'refresh_token', ...clientFields(client), ...(scope && { scope }) };
    return async () => {
      const form = { ...fields, refresh_token: tokens.refresh_token };
      const answer = jsonOf<Tokens>(await connection.post('/oauth/token', form, headers));
      expectContent(answer.access_token && answer.refresh_token, 'its tokens');
      expectContent(Boolean(answer.id_token) === !scope, 'an ID token exactly with openid');
      tokens.refresh_token = answer.refresh_token;
    };
  },
});

const withoutOpenid = 'profile email';

async function prepareLogin({ index, connection, seed }: WorkerContext): Promise<Operation> {
  let next = index;
  return async () => {
    await signIn(connection, seed.publicClient, seed, emailOf(seed, next));
    next += 17; // so that workers do not use the same people one after the other
  };
}

export const tokenWorkloads: Workload[] = [
  refresh('refresh', 'refresh, public client: rotates; access and ID token', 'publicClient'),
  refresh('refresh-access', 'the same without openid: access token only', 'publicClient', withoutOpenid),
  refresh('refresh-kept', 'refresh, confidential client: not rotated; access and ID token', 'confidentialClient'),
  refresh('refresh-kept-access', 'the same without openid: access token only', 'confidentialClient', withoutOpenid),
  {
    name: 'login',
    about: 'page, form with password, code, tokens: three requests',
    limit: 'argon2',
    uses: 1,
    prepare: prepareLogin,
  },
  {
    name: 'login-hashing-aside',
    about: 'the same by an api that remembers the hash of each password',
    limit: 'signatures',
    uses: 2,
    isHashingAside: true,
    prepare: prepareLogin,
  },
  {
    name: 'email-code-login',
    about:
      'page, address, mailed code, tokens: four requests; no hash, so argon2id only compares. The code is looked up, too',
    limit: 'argon2',
    uses: 0,
    async prepare({ index, connection, seed, mailedCode }) {
      const maxWorkers = 64; // each has its own people: of two codes for one person the older would never be read
      const people = seed.emails.map((_, person) => person).filter((person) => person % maxWorkers === index);
      let next = 0;
      return async () => {
        const person = people[next++ % people.length] as number;
        const readCode = () => mailedCode(seed.identityIds[person] as string);
        await signInByCode(connection, seed.publicClient, seed, { email: emailOf(seed, person), readCode });
      };
    },
  },
  {
    name: 'userinfo',
    about: 'GET with an access token',
    limit: 'hello',
    uses: 1,
    async prepare({ index, connection, seed, holders }) {
      const { access_token: token } = await holders.of(seed.publicClient, index);
      const email = emailOf(seed, index);
      return async () => {
        const claims = jsonOf(await connection.get('/oauth/userinfo', { authorization: `Bearer ${token}` }));
        expectContent(claims.email === email, 'the right email');
      };
    },
  },
  {
    name: 'introspect',
    about: 'POST of an access token by the confidential client',
    limit: 'hello',
    uses: 1,
    async prepare({ index, connection, seed, holders }) {
      const { access_token: token } = await holders.of(seed.publicClient, index);
      const headers = clientHeaders(seed.confidentialClient);
      return async () => {
        const answer = jsonOf(await connection.post('/oauth/introspect', { token }, headers));
        expectContent(answer.active === true && answer.sub, 'an active token');
      };
    },
  },
];

const emailOf = ({ emails }: Seed, index: number) => emails[index % emails.length] as string;
