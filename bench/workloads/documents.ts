import { type Connection, expectContent, jsonOf } from '../connection.js';
import type { Workload } from './workload.js';

/** A workload of one GET, whose answer `has` checks. */
const document = (
  name: string,
  about: string,
  read: (connection: Connection) => ReturnType<Connection['get']>,
  has: (body: Record<string, unknown>) => unknown,
): Workload => ({
  name,
  about,
  limit: 'hello',
  uses: 1,
  prepare: async ({ connection }) => {
    return async () => expectContent(has(jsonOf(await read(connection))), 'what it is for');
  },
});

export const documentWorkloads: Workload[] = [
  document(
    'jwks',
    'GET of the key set',
    (connection) => connection.get('/.well-known/jwks.json'),
    ({ keys }) => Array.isArray(keys) && keys.length > 0,
  ),
  document(
    'discovery',
    'GET of the discovery document',
    (connection) => connection.get('/.well-known/openid-configuration'),
    ({ token_endpoint: endpoint }) => endpoint,
  ),
];

/** Fastify alone: the limit of every workload that is one small GET. */
export const hello = document(
  'hello',
  'a bare Fastify: the limit',
  (connection) => connection.get('/hello'),
  ({ hello }) => hello === 'world',
);

export const apiWorkloads: Workload[] = [
  {
    name: 'identities',
    about: 'GET /api/v1/identities with an API key: a page of 50',
    limit: 'hello',
    uses: 1,
    async prepare({ connection, seed }) {
      const headers = { 'x-api-key': seed.apiKey };
      return async () => {
        const page = jsonOf<{ items: unknown[] }>(await connection.get('/api/v1/identities?take=50', headers));
        expectContent(page.items.length === 50, '50 identities');
      };
    },
  },
];
