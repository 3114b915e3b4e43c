import { readFile } from 'node:fs/promises';
import { loadConfig } from '../src/config.js';
import type { DemoFile } from '../src/dev/demo.js';
import type { Seed } from './seed.js';
import type { Api } from './service.js';

/** What an external OpenID Connect load driver needs; docs/performance.md says how to use it. */
export interface Target {
  issuer: string;
  client: { id: string };
  redirectUri: string;
  scope: string;
  users: { username: string; password: string }[];
  /** The api's process, whose CPU time is measured; absent if unknown. */
  pid?: number;
}

const scope = 'openid profile email';

/** Returns the target of the development installation of `npm start`. @throws Error if there is none */
export async function targetOfDemo(): Promise<Target> {
  const { demoFile } = loadConfig('dev');
  const text = await readFile(demoFile, 'utf8').catch(() => {
    throw new Error(`${demoFile} is not there: start the service once with npm start`);
  });
  const demo = JSON.parse(text) as DemoFile;
  return {
    issuer: demo.base_url,
    client: { id: demo.client.client_id },
    redirectUri: demo.client.redirect_uri,
    scope,
    users: demo.identities.map(({ email, password }) => ({ username: email, password })),
  };
}

/** Returns the target of an installation that the benchmark seeded, with its two hundred people. */
export const targetOf = ({ origin, pid }: Api, { publicClient, redirectUri, emails, password }: Seed): Target => ({
  issuer: origin,
  client: { id: publicClient.id },
  redirectUri,
  scope,
  users: emails.map((username) => ({ username, password })),
  pid,
});
