import { expectContent, expectStatus, jsonOf } from '../connection.js';
import { createRandom } from '../sized/model.js';
import { emailOf } from '../sized/seed.js';
import { decisionWorkloads } from '../workloads/decisions.js';
import { listed, managementWorkloads, searched, walked } from '../workloads/management.js';
import { fieldsOf, openSignIn } from '../workloads/sign-in.js';
import type { SizedWorkload } from '../workloads/sized-workload.js';
import { tokenWorkloads } from '../workloads/tokens.js';

const sized = (name: string): SizedWorkload => named([...decisionWorkloads, ...managementWorkloads], name);
/** A token workload, with the people of the same Environment. */
const ofTokens = (name: string) => named(tokenWorkloads, name) as SizedWorkload;

function named<W extends { name: string }>(all: readonly W[], name: string): W {
  const found = all.find((one) => one.name === name);
  if (!found) throw new Error(`there is no workload ${name}`);
  return found;
}

const people = ({ size }: { size: { identities: number } }) => size.identities;
const middle = (total: number, take: number) => Math.floor(total / take / 2);

/** Returns a part of an address that a thousand people have in every Environment of a hundred thousand or more. */
const ofAThousand = (random: () => number) => `u0${String(Math.floor(random() * 100)).padStart(2, '0')}`;

/** An unknown address on the hosted page: it is looked up, but nothing is hashed or mailed. */
const unknownAddress: SizedWorkload = {
  name: 'address-nobody-has',
  about: 'hosted page, and a code asked for to an address that nobody has',
  limit: 'hello',
  uses: 1,
  async prepare({ index, connection, seed }) {
    let next = 0;
    return async () => {
      const { page } = await openSignIn(connection, seed.publicClient, seed);
      const form = { ...fieldsOf(page, '/oauth/authorize'), email: `nobody-${index}-${next++}@people.example` };
      expectStatus(await connection.post('/oauth/login/email-otp/start', form), 200);
    };
  },
};

const identityById: SizedWorkload = {
  name: 'identity-by-id',
  about: 'GET of one identity with its roles',
  limit: 'reads',
  uses: 1,
  async prepare({ index, connection, seed }) {
    const random = createRandom(index);
    return async () => {
      const number = Math.floor(random() * seed.size.identities);
      const path = `/api/v1/identities/${seed.memberIds[number]}`;
      const { data } = jsonOf<{ data: { email: string } }>(await connection.get(path, { 'x-api-key': seed.apiKey }));
      expectContent(data.email === emailOf(number), 'the one identity');
    };
  },
};

/** The workloads for a hundred thousand people and for a million, in this order: those that change data come last. */
export const millionWorks: readonly SizedWorkload[] = [
  sized('identities-first'),
  listed('identities-middle', 'a page in the middle of all', 'identities', people, {
    numberOf: middle,
  }),
  walked,
  sized('identities-last'),
  listed(
    'identities-inactive',
    'who is inactive: one in a hundred',
    'identities',
    ({ size }) => size.identities / 200,
    {
      query: '&status=inactive',
    },
  ),
  listed('identities-active', 'who is active', 'identities', ({ size }) => size.identities / 2, {
    query: '&status=active',
  }),
  listed('identities-by-name', 'by last name, the first page', 'identities', people, {
    query: '&sort_by=last_name&order=asc',
  }),
  identityById,
  sized('identities-search-one'),
  searched('identities-search-thousand', 'the same, where a thousand are found', ofAThousand, (total) => total >= 1000),
  searched(
    'identities-search-none',
    'the same, where nobody is',
    () => 'xyzzy',
    (total) => total === 0,
  ),
  searched(
    'identities-search-share',
    'the same by a family name that one in eleven has',
    () => 'Kaya',
    (total) => total > 1000,
  ),
  sized('evaluate-allowed'),
  sized('evaluate-denied'),
  unknownAddress,
  ofTokens('userinfo'),
  ofTokens('refresh'),
  ofTokens('login'),
  sized('identities-create'),
];

/** Workloads whose cost grows with what they find; they have no bound of growth. */
export const growing = new Set(['identities-search-share']);
