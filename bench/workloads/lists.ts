import { demoAdmin } from '../../src/dev/demo-data.js';
import { type Connection, jsonOf } from '../connection.js';
import type { SizedSeed } from '../sized/seed.js';
import { createKept } from './kept.js';
import { headersOf, listed } from './management.js';
import type { SizedWorkload } from './sized-workload.js';

interface SignedIn {
  headers: Record<string, string>;
  /** The Account's path on the Portal API. */
  path: string;
}

/** One sign-in for all workers of this cell and later ones, so that no cell measures it. */
const administrators = createKept<SizedSeed, Promise<SignedIn>>();
const administratorOf = (connection: Connection, seed: SizedSeed): Promise<SignedIn> =>
  administrators(seed, () => signIn(connection, seed));

async function signIn(connection: Connection, { password }: SizedSeed): Promise<SignedIn> {
  const answer = await connection.postJson('/v1/auth/login', { email: demoAdmin, password });
  const { data } = jsonOf<{ data: { access_token: string; account: { slug: string } } }>(answer);
  return {
    headers: { authorization: `Bearer ${data.access_token}` },
    path: `/portal/v1/accounts/${data.account.slug}`,
  };
}

const people = ({ size }: SizedSeed) => size.identities;
const asAdministrator = (list: string) => async (connection: Connection, seed: SizedSeed) => {
  const { headers, path } = await administratorOf(connection, seed);
  return { headers, path: `${path}/${list}` };
};
const unsuccessful = (seed: SizedSeed) => Math.floor(people(seed) / 500);
const deliveries = async (_connection: Connection, seed: SizedSeed) => ({
  path: `/api/v1/webhooks/${seed.webhookId}/deliveries`,
  headers: headersOf(seed),
});

/** First pages of lists that grow by themselves. */
export const listWorkloads: SizedWorkload[] = [
  listed('deliveries-list', 'deliveries of one webhook', deliveries, people),
  listed(
    'deliveries-succeeded',
    'the same, those that succeeded',
    deliveries,
    (seed) => people(seed) - unsuccessful(seed),
    {
      query: '&status=succeeded',
    },
  ),
  listed('invites-list', 'invites of an Environment', 'identity-invites', people),
  listed('api-keys-list', 'API keys of an Environment', 'api-keys', people),
  listed('audit-list', 'the audit log of an Environment', 'audit-logs', people),
  listed('audit-by-type', 'the same, of one type of resource', 'audit-logs', people, {
    query: '&resource_type=identity',
  }),
  listed(
    'processes-list',
    'durable processes of an Account, of all kinds',
    asAdministrator('processes'),
    (seed) => 3 * people(seed),
  ),
  listed('processes-of-kind', 'the same, mails alone', asAdministrator('processes'), people, { query: '&kind=email' }),
  listed('directory-list', 'the people of an Account', asAdministrator('identities'), people),
];
