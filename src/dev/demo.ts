import { readFile, rename, writeFile } from 'node:fs/promises';
import type { Config } from '../config.js';
import { type DemoData, demoAdmin, demoIdentities, demoRedirectUri, prepareDemoData } from './demo-data.js';
import type { Parts } from './parts.js';
import type { RunningProcesses } from './processes.js';
import type { DevSecrets } from './secrets.js';

/** The contents of `demo.json` (contract §9), for scripts and tests that drive a development installation. */
export type DemoFile = ReturnType<typeof demoOf>;
export type Demo = DemoFile & { file: string };

/** Makes the demo data, with the API key of an earlier start if there was one. */
export async function seedDemo(config: Config, { databaseUrl }: Parts, secrets: DevSecrets): Promise<DemoData> {
  const earlier = await readFile(config.demoFile, 'utf8').catch(() => null);
  const { api_key: earlierApiKey = null } = earlier ? (JSON.parse(earlier) as { api_key?: string }) : {};
  return prepareDemoData(databaseUrl, secrets, earlierApiKey);
}

/** Writes `demo.json`, readable only by its owner. The file appears at once with all its contents. */
export async function writeDemo(config: Config, demo: DemoFile): Promise<Demo> {
  const draft = `${config.demoFile}.draft`;
  await writeFile(draft, `${JSON.stringify(demo, null, 2)}\n`, { mode: 0o600 });
  await rename(draft, config.demoFile);
  return { ...demo, file: config.demoFile };
}

export function demoOf(
  data: DemoData,
  parts: Parts,
  { baseUrl, apiUrls, relyingPartyUrl }: RunningProcesses,
  secrets: DevSecrets,
) {
  const { scope, clientId } = data;
  return {
    base_url: baseUrl,
    api_urls: apiUrls,
    temporal_address: parts.temporalAddress,
    temporal_ui_url: parts.temporalUiUrl,
    inbox_url: parts.inboxUrl,
    database_url: parts.databaseUrl,
    account_slug: data.accountSlug,
    application_slug: data.applicationSlug,
    environment_slug: data.environmentSlug,
    account_id: scope.accountId,
    application_id: scope.applicationId,
    environment_id: scope.environmentId,
    admin: { email: demoAdmin, password: secrets.adminPassword },
    api_key: data.apiKey,
    client: { client_id: clientId, redirect_uri: demoRedirectUri },
    identities: demoIdentities.map((email) => ({ email, password: secrets.identityPassword })),
    sign_in_url: signInUrl(baseUrl, clientId, relyingPartyUrl),
    relying_party_url: relyingPartyUrl,
  };
}

// The answer goes to the example relying party, which has not started this sign-in and starts its own: single sign-on.
function signInUrl(baseUrl: string, clientId: string, relyingPartyUrl: string): string {
  const query = new URLSearchParams({
    client_id: clientId,
    redirect_uri: `${relyingPartyUrl}/callback`,
    response_type: 'code',
    scope: 'openid profile email',
    state: 'demo',
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', // from RFC 7636, appendix B
    code_challenge_method: 'S256',
  });
  return `${baseUrl}/oauth/authorize?${query}`;
}
