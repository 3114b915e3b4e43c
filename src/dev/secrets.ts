import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface DevSecrets {
  /** In the form of `MASTER_KEYS`. */
  masterKeys: string;
  /** The password of the service's role in the embedded PostgreSQL. */
  servicePassword: string;
  adminPassword: string;
  identityPassword: string;
}

/**
 * Returns the secrets of a development installation: made once, kept in the data folder, readable only by its owner.
 */
export async function developmentSecrets(dataDir: string): Promise<DevSecrets> {
  const file = join(dataDir, 'secrets.json');
  const stored = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  if (stored) return JSON.parse(stored);
  const random = (bytes: number) => randomBytes(bytes).toString('base64url');
  const secrets: DevSecrets = {
    masterKeys: `dev:${randomBytes(32).toString('base64')}`,
    servicePassword: random(18),
    adminPassword: random(12),
    identityPassword: random(12),
  };
  await writeFile(file, JSON.stringify(secrets, null, 2), { mode: 0o600, flag: 'wx' });
  return secrets;
}
