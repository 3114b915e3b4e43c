import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import nodemailer from 'nodemailer';
import pg from 'pg';
import { startChild } from '../../src/platform/embedded/children.js';
import { claimFolder, identityOf } from '../../src/platform/embedded/claims.js';
import { startInbox } from '../../src/platform/embedded/inbox.js';
import { startLastingTemporal } from '../../src/platform/embedded/lasting-temporal.js';
import { configuredPort, freePair, freePort, onFreePorts, portInUse } from '../../src/platform/embedded/ports.js';
import { startPostgres } from '../../src/platform/embedded/postgres.js';
import { startTemporal } from '../../src/platform/embedded/temporal.js';
import { findTemporalCli } from '../../src/platform/embedded/temporal-cli.js';
import { projectRoot } from '../../src/platform/root.js';
import { until } from '../support/until.js';

const folders: string[] = [];
function newFolder(): string {
  folders.push(mkdtempSync(join(tmpdir(), 'gatehouse-embedded-')));
  return folders.at(-1)!;
}
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

async function listening(port = 0) {
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  return { port: (server.address() as { port: number }).port, close: () => server.close() };
}

async function query(url: string, sql: string): Promise<pg.QueryResult> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return await client.query(sql);
  } finally {
    await client.end();
  }
}

describe('ports', () => {
  test('a taken port is skipped, and refused in one line if it is configured', async () => {
    const { port, close } = await listening();
    expect(await portInUse(port)).toBe(true);
    expect(await freePort(port)).toBeGreaterThan(port);
    await expect(configuredPort(port, 'INBOX_PORT')).rejects.toThrow(
      `INBOX_PORT=${port}: port ${port} is already in use`,
    );
    close();
    expect(await configuredPort(port, 'INBOX_PORT')).toBe(port);
  });

  test('neither port of a pair is taken, nor the excluded one', async () => {
    const { port, close } = await listening();
    expect(await freePair(port - 1)).toBeGreaterThan(port);
    expect(await freePair(port)).toBeGreaterThan(port);
    close();
    expect(await freePair(port, port + 1)).toBeGreaterThan(port + 1);
  });

  test('a port that another process takes during the start is replaced', async () => {
    const wanted = await freePort();
    let stranger: Awaited<ReturnType<typeof listening>> | undefined;
    const port = await onFreePorts([wanted], async ([candidate]) => {
      if (stranger) return candidate!;
      stranger = await listening(candidate);
      throw new Error('address already in use');
    });
    expect(port).not.toBe(wanted);
    stranger?.close();
  });

  test('a port that a program chose by itself and found taken has it started again; another failure does not', async () => {
    let starts = 0;
    const unlucky = async () => {
      starts++;
      if (starts === 1) throw new Error('listen tcp 127.0.0.1:41117: bind: address already in use');
      if (starts === 2)
        throw new Error('panic: failed assigning ephemeral port: accept tcp 127.0.0.1:41117: i/o timeout');
    };
    await onFreePorts([undefined], unlucky);
    expect(starts).toBe(3);
    const broken = () => Promise.reject(new Error('no such flag'));
    await expect(onFreePorts([undefined], broken)).rejects.toThrow('no such flag');
  });
});

describe('children and claims', () => {
  test('a child leads its own group, and one that ignores its signal is killed', async () => {
    const child = await startChild({
      command: process.execPath,
      args: ['-e', 'process.on("SIGTERM", () => {}); console.log("ready"); setInterval(() => {}, 1000)'],
      stopTimeoutMs: 300,
    });
    await until('it is ready', () => child.tail().includes('ready'));
    process.kill(-child.pid, 0); // throws if there is no such group
    await child.stop();
    expect(await child.exited).toEqual({ code: null, signal: 'SIGKILL' });
    await child.stop();
  });

  test('a child ends with its killed parent', async () => {
    const program = `
      import { startChild } from '${join(projectRoot, 'dist/src/platform/embedded/children.js')}';
      console.log((await startChild({ command: 'sleep', args: ['60'] })).pid);`;
    const parent = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [pid] = await once(parent.stdout, 'data');
    expect(identityOf(Number(pid))).toContain('sleep 60');
    parent.kill('SIGKILL');
    await until('it has ended', () => identityOf(Number(pid)) === undefined);
  });

  test('a missing command is an error, not a crash', async () => {
    await expect(startChild({ command: '/nowhere/postgres', args: [] })).rejects.toThrow('cannot be started');
  });

  test('a folder has one owner; the child of a killed one is stopped by the next', async () => {
    const folder = newFolder();
    const claim = await claimFolder(folder);
    await expect(claimFolder(folder)).rejects.toThrow('is in use by process');
    await claim.release();

    // Detached, and without our guard: what remains if owner and guard are killed together.
    const orphan = spawn('sleep', ['60'], { detached: true, stdio: 'ignore' });
    await once(orphan, 'spawn');
    const dead = { pid: 2 ** 22 + 1, identity: 'gone' };
    const child = { pid: orphan.pid, identity: identityOf(orphan.pid!) };
    writeFileSync(join(folder, 'owner.json'), JSON.stringify({ ...dead, child }));
    const [next] = await Promise.all([claimFolder(folder), once(orphan, 'exit')]);
    await next.release();
  });

  test('a process that merely has the id of a recorded child is left alone', async () => {
    const folder = newFolder();
    const stranger = spawn('sleep', ['60'], { stdio: 'ignore' });
    await once(stranger, 'spawn');
    const child = { pid: stranger.pid, identity: '1 postgres -D elsewhere' };
    writeFileSync(join(folder, 'owner.json'), JSON.stringify({ pid: 2 ** 22 + 1, identity: 'gone', child }));
    await (await claimFolder(folder)).release();
    expect(stranger.exitCode).toBeNull();
    expect(stranger.kill()).toBe(true);
  });
});

describe('PostgreSQL', () => {
  test('data, password and port stay from one start to the next', async () => {
    const dataDir = newFolder();
    const port = await freePort();
    const first = await startPostgres({ dataDir, port, durable: false });
    await query(first.url, 'create table kept (a int); insert into kept values (7)');
    await expect(startPostgres({ dataDir })).rejects.toThrow('already runs from here');
    await first.stop();
    expect(await portInUse(port)).toBe(false);
    expect(statSync(join(dataDir, 'password')).mode & 0o777).toBe(0o600);

    const second = await startPostgres({ dataDir, durable: false });
    expect(second.url).toBe(first.url);
    expect((await query(second.url, 'select a from kept')).rows).toEqual([{ a: 7 }]);
    await second.stop();
  });

  test('nobody gets in without the password, and its port yields to another process', async () => {
    const dataDir = newFolder();
    const stranger = await listening();
    const server = await startPostgres({ dataDir, port: stranger.port, durable: false });
    expect(server.port).not.toBe(stranger.port);
    await expect(query(server.url.replace(/:[0-9a-f]+@/, ':guess@'), 'select 1')).rejects.toThrow('password');
    const settings = await query(
      server.url,
      `select setting from pg_settings where name in ('fsync', 'listen_addresses', 'max_connections') order by name`,
    );
    expect(settings.rows.map((row) => row.setting)).toEqual(['off', '127.0.0.1', '200']);
    await server.stop();
    stranger.close();
  });

  test('a server that was killed and left its lock file comes back with its data', async () => {
    const dataDir = newFolder();
    const first = await startPostgres({ dataDir, port: await freePort() });
    await query(first.url, 'create table kept as select 7 as a');
    const { rows } = await query(first.url, `select pg_read_file('postmaster.pid') as lock`);
    process.kill(Number(rows[0].lock.split('\n')[0]), 'SIGKILL');
    expect(await first.exited).toMatchObject({ signal: 'SIGKILL' });
    await first.stop();

    const second = await startPostgres({ dataDir });
    expect((await query(second.url, 'select a from kept')).rows).toEqual([{ a: 7 }]);
    await second.stop();
  });
});

describe('Temporal', () => {
  let cliPath: string;
  beforeAll(async () => {
    cliPath = await findTemporalCli({ onProgress: () => {} });
  });

  test('a configured path that is no Temporal CLI stops the start', async () => {
    const wrong = join(newFolder(), 'temporal');
    writeFileSync(wrong, '#!/bin/sh\necho something else\n', { mode: 0o755 });
    const search = (configuredPath: string) => findTemporalCli({ configuredPath, onProgress: () => {} });
    await expect(search(wrong)).rejects.toThrow('does not look like the Temporal CLI (something else)');
    await expect(search('/nowhere/temporal')).rejects.toThrow('TEMPORAL_CLI_PATH=/nowhere/temporal');
    expect(await search(cliPath)).toBe(cliPath);
  });

  test('search attributes of a later release are added to histories kept from an earlier one', async () => {
    const dataDir = newFolder();
    const options = { cliPath, namespace: 'gatehouse', dataDir, port: await freePort() };
    const first = await startTemporal({ ...options, searchAttributes: { GatehouseState: 'Keyword' } });
    expect(first.uiUrl).toBeNull();
    await first.stop();

    const searchAttributes = { GatehouseState: 'Keyword', GatehouseSubjectId: 'Keyword' } as const;
    const second = await startTemporal({ ...options, searchAttributes, uiPort: await freePort() });
    expect(second.port).toBe(first.port);
    const connection = await Connection.connect({ address: second.address });
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace: 'gatehouse' });
    expect(customAttributes).toMatchObject({ GatehouseState: 2, GatehouseSubjectId: 2 });
    await connection.close();
    expect(await (await fetch(second.uiUrl!)).text()).toContain('<html');
    await second.stop();
    expect(await portInUse(second.port)).toBe(false);
  });

  test('a server whose database stays interrupted is restarted, at its address and with its data', async () => {
    const dataDir = newFolder();
    const pidOf = () => JSON.parse(readFileSync(join(dataDir, 'owner.json'), 'utf8')).child.pid as number;
    const looks = [true, false, true, true]; // one failure is not the end
    const said: string[] = [];
    const server = await startLastingTemporal(
      {
        cliPath,
        namespace: 'kept',
        dataDir,
        port: await freePort(),
        searchAttributes: {},
        log: (line) => said.push(line),
      },
      { isInterrupted: async () => looks.shift() ?? false, everyMs: 100 },
    );
    const { workflowId, namespace } = { workflowId: 'kept', namespace: 'kept' };
    const running = async () => {
      const connection = await Connection.connect({ address: server.address });
      try {
        const query = { namespace, execution: { workflowId } };
        return (await connection.workflowService.describeWorkflowExecution(query)).workflowExecutionInfo?.status;
      } finally {
        await connection.close();
      }
    };
    const first = pidOf();
    const connection = await Connection.connect({ address: server.address });
    await new Client({ connection, namespace }).workflow.start('nothing', { workflowId, taskQueue: 'nobody' });
    await connection.close();
    await until('another one runs', () => said.some((line) => line.includes('started anew')) && pidOf() !== first);
    expect(await until('it answers', running)).toBe(1);
    expect(looks).toEqual([]);
    await server.stop();
    expect(await server.exited).toMatchObject({ signal: null });
    expect(await portInUse(server.port)).toBe(false);
  });

  test('a server that ends on its own is reported', async () => {
    const dataDir = newFolder();
    const port = await freePort();
    const server = await startTemporal({ cliPath, namespace: 'default', dataDir, port, searchAttributes: {} });
    process.kill(JSON.parse(readFileSync(join(dataDir, 'owner.json'), 'utf8')).child.pid, 'SIGKILL');
    expect(await server.exited).toMatchObject({ signal: 'SIGKILL' });
    await server.stop();
  });
});

describe('inbox', () => {
  test('a mail is listed as JSON, shown on a page, and kept', async () => {
    const mailDir = newFolder();
    const ports = { smtpPort: await freePort(), webPort: await freePort() };
    const first = await startInbox({ mailDir, ...ports });
    const mailer = nodemailer.createTransport({ url: first.smtpUrl, pool: true });
    await mailer.sendMail({ from: 'a@example.com', to: 'ana@example.com', subject: 'Grüße', text: 'code 123456' });
    const expected = [{ subject: 'Grüße', to: [{ address: 'ana@example.com' }] }];
    expect(await (await fetch(`${first.webUrl}/email`)).json()).toMatchObject(expected);
    const page = await fetch(first.webUrl, { headers: { accept: 'text/html' } });
    expect(await page.text()).toContain('<title>MailDev</title>');
    await first.stop(); // although the mailer's connection is open
    mailer.close();

    const second = await startInbox({ mailDir, ...ports });
    const [mail] = (await (await fetch(`${second.webUrl}/email`)).json()) as { id: string; text: string }[];
    expect(mail!.text.trim()).toBe('code 123456');
    expect((await fetch(`${second.webUrl}/email/${mail!.id}`)).status).toBe(200);
    await second.stop();
  });

  test('another website cannot read the mails', async () => {
    const inbox = await startInbox({ smtpPort: await freePort(), webPort: await freePort() });
    const ask = (origin: string) => fetch(`${inbox.webUrl}/email`, { headers: { origin } });
    expect((await ask('https://elsewhere.example')).status).toBe(404);
    expect((await ask(inbox.webUrl)).status).toBe(200);
    await inbox.stop();
  });
});
