import { randomBytes } from 'node:crypto';
import type { LightMyRequestResponse } from 'fastify';
import { outcomeOf } from './answers.js';

/** Returns tokens that the service did not issue. @param good a valid one to derive spoiled ones from */
export const foreignTokens = (good: string): Record<string, string> => ({
  unknown: randomBytes(32).toString('base64url'),
  malformed: `${good}x`,
  empty: '',
  long: 'A'.repeat(5000),
  'with a NUL': '\u0000',
});

/** Expects dead invite links to be refused alike, whatever is wrong with them and whatever is requested. */
export async function expectDeadLinks(
  tokens: Record<string, string>,
  calls: readonly ((token: string) => Promise<LightMyRequestResponse>)[],
): Promise<void> {
  const seen = new Set<string>();
  for (const [name, token] of Object.entries(tokens)) {
    for (const call of calls) {
      const answer = await call(token);
      expect([name, outcomeOf(answer)]).toEqual([name, '400 invite.link_invalid']);
      const { timestamp: _, path: __, ...same } = answer.json().error;
      seen.add(JSON.stringify(same));
    }
  }
  expect(seen.size).toBe(1);
}
