import { chmod, chown, copyFile, mkdir, readdir, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { asOwner } from '../../support/database.js';
import type { Part } from '../../support/parts.js';
import { until } from '../../support/until.js';

/** A PostgreSQL server of this machine that archives what a restore to any moment since its base backup needs. */
export type Archive = Awaited<ReturnType<typeof startArchiving>>;

/**
 * Makes a server archive its log continuously (PostgreSQL manual, "Continuous Archiving and Point-in-Time Recovery");
 * restarts it. Needs a superuser and the server's files, but no other program.
 */
export async function startArchiving(ownerUrl: string, postgres: Part) {
  const query = <Row>(text: string) => asOwner(async (client) => (await client.query(text)).rows as Row[], ownerUrl);
  const [setting] = await query<{ data_directory: string }>('show data_directory');
  const data = setting?.data_directory as string;
  const { uid, gid } = await stat(data);
  const folder = join(dirname(data), 'archive');
  const [log, base] = [join(folder, 'log'), join(folder, 'base')];
  for (const one of [folder, log]) {
    await mkdir(one);
    await chown(one, uid, gid);
  }
  await query('alter system set archive_mode = on');
  await query(`alter system set archive_command = 'test ! -f "${log}/%f" && cp "%p" "${log}/%f"'`);
  await postgres.kill('SIGINT');
  await postgres.start();
  const give = async (path: string, text: string) => {
    await writeFile(path, text, { mode: 0o600 });
    await chown(path, uid, gid);
  };

  return {
    /** Copies the files while the server writes them; replaying the log makes the copy consistent. */
    async backUp(): Promise<void> {
      await asOwner(async (client) => {
        await client.query(`select pg_backup_start('drill', true)`);
        await copyTree(data, base);
        const { rows } = await client.query<{ labelfile: string }>('select labelfile from pg_backup_stop()');
        await give(join(base, 'backup_label'), rows[0]?.labelfile as string);
      }, ownerUrl);
    },

    /** Returns the time of the server's clock. */
    async now(): Promise<string> {
      const [row] = await query<{ now: string }>('select clock_timestamp()::text as now');
      return row?.now as string;
    },

    /** Waits until everything written so far is in the archive. */
    async flushed(): Promise<void> {
      const [last] = await query<{ file: string }>('select pg_walfile_name(pg_current_wal_lsn()) as file');
      await query('select pg_switch_wal()');
      await until('the log is archived', async () => (await readdir(log)).includes(last?.file as string));
    },

    /** Removes the server's files for good. The server must be dead. */
    lose: () => rm(data, { recursive: true }),

    /** Restores the backup, and starts the server with its state at a moment. */
    async restore(moment: string): Promise<void> {
      await copyTree(base, data);
      await give(join(data, 'recovery.signal'), '');
      const recovery = [
        `restore_command = 'cp "${log}/%f" "%p"'`,
        `recovery_target_time = '${moment}'`,
        `recovery_target_action = 'promote'`,
      ];
      await give(join(data, 'postgresql.auto.conf'), `${recovery.join('\n')}\n`);
      await postgres.start();
      await until('PostgreSQL is at that moment', async () => {
        const [row] = await query<{ over: boolean }>('select not pg_is_in_recovery() as over');
        return row?.over;
      });
    },
  };
}

/** Whether a base backup leaves a file out: the log, which is archived, and files of the running process. */
const isLeftOut = (path: string) =>
  /^\/(postmaster\.(pid|opts)|(pg_wal|pg_replslot|pg_dynshmem|pg_notify|pg_stat_tmp)\/.+)$/.test(path);

/** Copies a folder with owners and permissions, except for files that vanish meanwhile. */
async function copyTree(from: string, to: string, path = ''): Promise<void> {
  const { uid, gid, mode } = await stat(from + path);
  await mkdir(to + path, { recursive: true });
  await chmod(to + path, mode);
  await chown(to + path, uid, gid);
  for (const entry of await readdir(from + path, { withFileTypes: true })) {
    const inside = `${path}/${entry.name}`;
    if (isLeftOut(inside)) continue;
    if (entry.isDirectory()) await copyTree(from, to, inside);
    else if (entry.isSymbolicLink()) await symlink(await readlink(from + inside), to + inside);
    else await copyOne(from + inside, to + inside, { uid, gid });
  }
}

async function copyOne(from: string, to: string, { uid, gid }: { uid: number; gid: number }): Promise<void> {
  try {
    await copyFile(from, to);
    await chown(to, uid, gid);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}
