import { measureMillion } from '../million/index.js';
import { millionTable } from '../million/table.js';
import { measureScim, scimTable } from '../scim/index.js';
import type { Surroundings } from '../surroundings.js';
import { deliveriesTable, measureDeliveries } from './deliveries.js';
import { domainsTable, measureDomains } from './domains.js';
import { eventsTable, measureEvents } from './events.js';
import { measureOverload, overloadTable } from './overload.js';
import { measureRegistrations, registrationsTable } from './registrations.js';
import { measureTurns, turnsTable } from './turns.js';
import { measureWindows, windowsTable } from './windows.js';

/** A measurement apart from the workloads, with few and with many of something. */
export interface BenchPart {
  name: string;
  /** Its heading in the report. */
  title: string;
  /** The lines of the usage. */
  about: readonly string[];
  /** The sizes, unless the command line names others. */
  usual: readonly number[];
  /** Whether it measures durable processes, for which the kind of Temporal can be chosen. */
  isDurable?: boolean;
  /** @returns a table in Markdown, and its figures */
  measure(counts: readonly number[], surroundings: Surroundings): Promise<{ table: string; results: object }>;
}

const part = <Result extends object>({
  measure,
  table,
  ...named
}: Omit<BenchPart, 'measure'> & {
  measure: (counts: readonly number[], surroundings: Surroundings) => Promise<Result[]>;
  table: (results: readonly Result[]) => string;
}): BenchPart => ({
  ...named,
  async measure(counts, surroundings) {
    const results = await measure(counts, surroundings);
    return { table: table(results), results };
  },
});

/** Measures one count after the other, each with its own installation. */
const eachOf =
  <Result>(measure: (count: number, surroundings: Surroundings) => Promise<Result>) =>
  async (counts: readonly number[], surroundings: Surroundings): Promise<Result[]> => {
    const results: Result[] = [];
    for (const count of counts) results.push(await measure(count, surroundings));
    return results;
  };

/** All parts, in the order of the report. */
export const benchParts: readonly BenchPart[] = [
  part({
    name: 'registrations',
    title: 'Registrations that wait',
    about: [
      'holds a hundred and then ten thousand registrations open (or as many as named), and shows what waiting',
      'costs the worker; ten thousand take some ten minutes',
    ],
    usual: [100, 10_000],
    isDurable: true,
    measure: eachOf(measureRegistrations),
    table: registrationsTable,
  }),
  part({
    name: 'domains',
    title: 'Claims of domains that are polled',
    about: [
      'polls a hundred and then ten thousand pending claims of domains (or as many as named), and shows what that',
      'costs the worker; ten thousand take some fifteen minutes',
    ],
    usual: [100, 10_000],
    isDurable: true,
    measure: eachOf(measureDomains),
    table: domainsTable,
  }),
  part({
    name: 'deliveries',
    title: 'Deliveries of webhooks',
    about: [
      'delivers webhooks to a receiver on this machine, with 1, 100 and 1 000 subscriptions (or as many as named)',
    ],
    usual: [1, 100, 1_000],
    isDurable: true,
    measure: eachOf(measureDeliveries),
    table: deliveriesTable,
  }),
  part({
    name: 'turns',
    title: 'Deliveries behind those of another Account',
    about: [
      'has an Account wait for ten, 2 000 and 6 000 deliveries (or as many as named), and shows how long those of another',
      'one take meanwhile',
    ],
    usual: [10, 2_000, 6_000],
    isDurable: true,
    measure: eachOf(measureTurns),
    table: turnsTable,
  }),
  part({
    name: 'windows',
    title: 'Roles that end at the same moment',
    about: [
      'has a hundred and then ten thousand time-limited roles end together (or as many as named), and shows when each',
      'is told of, and how long the deliveries of another Account take meanwhile',
    ],
    usual: [100, 10_000],
    isDurable: true,
    measure: eachOf(measureWindows),
    table: windowsTable,
  }),
  part({
    name: 'events',
    title: 'Reading events',
    about: ['reads the change feed and the audit log of 100 000 and of a million events (or as many as named)'],
    usual: [100_000, 1_000_000],
    measure: (counts, { stops, say }) => measureEvents(stops, counts, say),
    table: eventsTable,
  }),
  part({
    name: 'scim',
    title: 'Provisioning by SCIM',
    about: [
      'asks and changes a directory of 1 000 and of 100 000 people by SCIM (or of as many as named); some three',
      'minutes',
    ],
    usual: [1_000, 100_000],
    measure: (counts, { stops, say, times }) => measureScim(stops, counts, times, say),
    table: scimTable,
  }),
  part({
    name: 'million',
    title: 'A million identities',
    about: [
      'loads 100 000 and then a million identities (or as many as named) by the bulk operation, and measures lists,',
      'searches, decisions and sign-ins beside them; some fifteen minutes, and six gigabytes of disk',
    ],
    usual: [100_000, 1_000_000],
    measure: (counts, { stops, say, times }) => measureMillion(stops, counts, times, say),
    table: millionTable,
  }),
  part({
    name: 'overload',
    title: 'More sign-ins than an api can do',
    about: [
      'has nobody, as many as are served at once, and then more people sign in than may wait, and shows who is',
      'refused, and what refreshes and probes notice of it',
    ],
    usual: [0, 4, 500],
    measure: (counts, { stops, say }) => measureOverload(stops, counts, say),
    table: overloadTable,
  }),
];
