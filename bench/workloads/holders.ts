import { connect } from '../connection.js';
import type { Client, Seed } from '../seed.js';
import { createKept } from './kept.js';
import { signIn, type Tokens } from './sign-in.js';

/** Signed-in people: one for each worker and client. Each refresh stores its newest token here. */
export interface Holders {
  of(client: Client, index: number): Promise<Tokens>;
}

export function createHolders(origin: string, seed: Seed): Holders {
  const held = createKept<string, Promise<Tokens>>();
  const connection = connect(origin);
  const enter = (client: Client, index: number) =>
    signIn(connection, client, seed, seed.emails[index % seed.emails.length] as string);
  return { of: (client, index) => held(`${client.id} ${index}`, () => enter(client, index)) };
}
