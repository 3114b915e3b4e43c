import { createWriteStream } from 'node:fs';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { EnvHttpProxyAgent, fetch, type Response } from 'undici';
import { runChild } from './children.js';

/** The address that the Temporal SDK uses to download the dev server. */
const OFFICIAL_ADDRESS = 'https://temporal.download/cli';
/** Short, so that a closed network is noticed at once and not after minutes. */
const CONNECT_TIMEOUT_MS = 5000;
const ANSWER_TIMEOUT_MS = 15_000;

/**
 * Writes the official Temporal CLI of `version` for this machine to `target`. As for the SDK, the address returns where
 * the archive is and which file in it is the CLI. The SDK itself cannot download only the file, nor with a short
 * time-out. HTTPS_PROXY is honored.
 * @throws Error saying what failed
 */
export async function downloadTemporalCli(version: string, target: string): Promise<void> {
  const dispatcher = new EnvHttpProxyAgent({
    connect: { timeout: CONNECT_TIMEOUT_MS },
    headersTimeout: ANSWER_TIMEOUT_MS,
    bodyTimeout: ANSWER_TIMEOUT_MS,
  });
  const folder = await mkdtemp(join(dirname(target), 'download-'));
  try {
    const get = (url: string | URL) => fetch(url, { dispatcher }).then(successful);
    const { archiveUrl, fileToExtract } = (await (await get(addressOf(version))).json()) as Record<string, unknown>;
    if (typeof archiveUrl !== 'string' || typeof fileToExtract !== 'string') throw new Error('unexpected answer');
    const archive = join(folder, 'archive.tar.gz');
    await pipeline((await get(archiveUrl)).body!, createWriteStream(archive));
    await runChild({ command: 'tar', args: ['-xzf', archive, '-C', folder, fileToExtract] });
    await rename(join(folder, fileToExtract), target);
  } catch (error) {
    const { message, cause } = error as Error;
    throw new Error(cause instanceof Error ? `${message}: ${cause.message}` : message);
  } finally {
    await rm(folder, { recursive: true, force: true });
    await dispatcher.destroy();
  }
}

function addressOf(version: string): URL {
  const url = new URL(`${OFFICIAL_ADDRESS}/v${version}`);
  url.searchParams.set('arch', process.arch === 'x64' ? 'amd64' : process.arch);
  url.searchParams.set('platform', process.platform);
  url.searchParams.set('format', 'tar.gz');
  return url;
}

function successful(response: Response): Response {
  if (!response.ok) throw new Error(`${response.url} answered ${response.status}`);
  return response;
}
