import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { projectRoot } from '../root.js';
import { type Exit, running, startChild, untilReady } from './children.js';
import { type Claim, claimFolder } from './claims.js';
import { onFreePorts } from './ports.js';

const DEFAULT_SMTP_PORT = 1025;
const DEFAULT_WEB_PORT = 1080;

export interface StartInbox {
  /** Preferred ports, by default 1025 and 1080; the next free one if one is taken. */
  smtpPort?: number;
  webPort?: number;
  /** Keeps the last 2000 mails from one start to the next; if absent, mails are deleted at the stop. */
  mailDir?: string;
  log?: (line: string) => void;
}

export interface EmbeddedInbox {
  pid: number;
  /** For SMTP_URL: no TLS, no authentication. */
  smtpUrl: string;
  /** A page for people; `GET {webUrl}/email` lists all mails as JSON. */
  webUrl: string;
  /** Resolves when the inbox has ended, by `stop` or on its own. */
  exited: Promise<Exit & { tail: string }>;
  stop(): Promise<void>;
}

/**
 * Starts maildev on 127.0.0.1: an SMTP server that delivers nothing, and shows every mail on a web page.
 *
 * It runs as a separate process: inside ours, its SMTP server would wait for the mailer's open connections before it
 * stops, and parsing a mail's HTML (jsdom) would block the api.
 * @throws FolderInUse when another living process uses `mailDir`; Error with its last lines when it does not come up
 */
export async function startInbox(options: StartInbox = {}): Promise<EmbeddedInbox> {
  const { smtpPort = DEFAULT_SMTP_PORT, webPort = DEFAULT_WEB_PORT, mailDir, log = () => {} } = options;
  // maildev always writes files, by default into a folder in /tmp that all runs on the machine would share.
  const folder = mailDir ? resolve(mailDir) : await mkdtemp(join(tmpdir(), 'gatehouse-inbox-'));
  const claim = await claimFolder(folder);
  const close = async () => {
    await claim.release();
    if (!mailDir) await rm(folder, { recursive: true, force: true });
  };
  try {
    return await onFreePorts([smtpPort, webPort], async ([smtp, web]) => {
      const smtpUrl = `smtp://127.0.0.1:${smtp}`;
      const webUrl = `http://127.0.0.1:${web}`;
      const server = await startServer(smtp!, web!, folder, claim);
      log(`Mails to ${smtpUrl} are shown on ${webUrl}`);
      return {
        smtpUrl,
        webUrl,
        ...running(server, close),
      };
    });
  } catch (error) {
    await close();
    throw error;
  }
}

async function startServer(smtp: number, web: number, folder: string, claim: Claim) {
  const script = join(projectRoot, 'src/platform/embedded/inbox-server.mjs');
  const mails = join(folder, 'mails'); // a folder of its own, since "delete all" on the page empties it
  const args = [script, String(smtp), String(web), mails];
  const server = await startChild({
    command: process.execPath,
    args,
    withoutEnv: /^(MAILDEV_|NODE_OPTIONS$)/,
    stopTimeoutMs: 2000, // accepted mails are already on disk
  });
  try {
    await claim.record(server.pid);
    await untilReady(server, { name: 'The inbox', announces: `and 127.0.0.1:${web}` }, () => isHealthy(web));
    return server;
  } catch (error) {
    await server.stop();
    throw error;
  }
}

async function isHealthy(web: number): Promise<void> {
  const answer = await fetch(`http://127.0.0.1:${web}/api/healthz`, { signal: AbortSignal.timeout(2000) });
  if (!answer.ok) throw new Error(`status ${answer.status}`);
}
