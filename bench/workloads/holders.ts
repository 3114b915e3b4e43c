import { minutes } from '../../src/platform/clock.js';
import { connect } from '../connection.js';
import type { Client, Seed } from '../seed.js';
import { signIn, type Tokens } from './sign-in.js';

/** Well within the life of an access token: a whole run takes longer than that. */
const keptMs = minutes(5);

/** People who are signed in: one for each worker and client. Each refresh leaves its newest token here. */
export interface Holders {
  of(client: Client, index: number): Promise<Tokens>;
}

export function createHolders(origin: string, seed: Seed): Holders {
  const held = new Map<string, { since: number; tokens: Promise<Tokens> }>();
  const connection = connect(origin);
  const enter = (client: Client, index: number) =>
    signIn(connection, client, seed, seed.emails[index % seed.emails.length] as string);
  return {
    of(client, index) {
      const key = `${client.id} ${index}`;
      const known = held.get(key);
      if (known && Date.now() - known.since < keptMs) return known.tokens;
      const tokens = enter(client, index);
      held.set(key, { since: Date.now(), tokens });
      return tokens;
    },
  };
}
