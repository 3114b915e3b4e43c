import { expectContent, jsonOf } from '../connection.js';
import { createRandom, type Question } from '../sized/model.js';
import type { SizedSeed } from '../sized/seed.js';
import type { SizedWorkload } from './sized-workload.js';

interface Decision {
  allowed: boolean;
  reason: string;
}

const path = '/api/v1/authorization/evaluate';
const bodyOf = ({ memberIds, nodeIds }: SizedSeed, { identity, permission, node }: Question) => ({
  identity_id: memberIds[identity],
  permission,
  node_id: nodeIds[node],
});

/** Makes the questions before the measurement; every worker has different ones. */
const questions = <T>(count: number, seed: number, make: (random: () => number) => T) => {
  const random = createRandom(seed);
  const made = Array.from({ length: count }, () => make(random));
  let next = 0;
  return () => made[next++ % count] as T;
};

const isRight = (decision: Decision | undefined, { allowed }: Question) =>
  decision?.allowed === allowed && decision.reason === (allowed ? 'granted' : 'no_assignment');

const evaluate = (name: string, about: string, allowed: boolean): SizedWorkload => ({
  name,
  about,
  limit: 'reads',
  uses: 1,
  async prepare({ index, connection, seed }) {
    const headers = { 'x-api-key': seed.apiKey };
    const next = questions(1000, index, (random) => seed.model.ask(random, allowed));
    return async () => {
      const question = next();
      const { data } = jsonOf<{ data: Decision }>(await connection.postJson(path, bodyOf(seed, question), headers));
      expectContent(isRight(data, question), 'the right decision');
    };
  },
});

const evaluateBulk = (checks: number): SizedWorkload => ({
  name: `evaluate-bulk-${checks}`,
  about: `${checks} such decisions in one request, every other one allowed`,
  limit: 'reads',
  uses: checks,
  async prepare({ index, connection, seed }) {
    const headers = { 'x-api-key': seed.apiKey };
    const next = questions(Math.max(4, 1000 / checks), index, (random) =>
      Array.from({ length: checks }, (_, i) => seed.model.ask(random, i % 2 === 0)),
    );
    return async () => {
      const asked = next();
      const body = { checks: asked.map((question) => bodyOf(seed, question)) };
      const { data } = jsonOf<{ data: { results: Decision[] } }>(
        await connection.postJson(`${path}/bulk`, body, headers),
      );
      const right = asked.every((question, i) => isRight(data.results[i], question));
      expectContent(right && data.results.length === checks, 'the right decisions in their order');
    };
  },
});

export const decisionWorkloads: SizedWorkload[] = [
  evaluate('evaluate-allowed', 'POST of one decision about a leaf; the role is held there or above', true),
  evaluate('evaluate-denied', 'the same, where none that the identity holds allows it', false),
  evaluateBulk(50),
  evaluateBulk(1000),
];
