import { readdirSync, readFileSync } from 'node:fs';
import { identityOf } from '../../../src/platform/embedded/claims.js';

interface Seen {
  pid: number;
  parent: number;
  session: number;
}

/** Reads proc(5): the name in brackets may contain anything; state, parent, group and session follow it. */
function processes(): Seen[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const [, parent, , session] = readFileSync(`/proc/${name}/stat`, 'utf8')
          .replace(/^.*\) /s, '')
          .split(' ');
        return [{ pid: Number(name), parent: Number(parent), session: Number(session) }];
      } catch {
        return []; // ended meanwhile
      }
    });
}

/** Returns the command lines of the live processes in a session that `leader` leads or led. */
export const livingIn = (leader: number): string[] =>
  processes()
    .filter(({ session }) => session === leader)
    .flatMap(({ pid }) => identityOf(pid) ?? []);

/** Returns all current descendants of `ancestor`. */
export function descendantsOf(ancestor: number): { pid: number; identity: string }[] {
  const all = processes();
  const found = new Set([ancestor]);
  for (let before = 0; before < found.size; ) {
    before = found.size;
    for (const { pid, parent } of all) if (found.has(parent)) found.add(pid);
  }
  found.delete(ancestor);
  return [...found].flatMap((pid) => {
    const identity = identityOf(pid);
    return identity === undefined ? [] : [{ pid, identity }];
  });
}

/** Returns those that still live; the id alone is not enough, since another process may have it by now. */
export const stillAlive = (seen: readonly { pid: number; identity: string }[]): string[] =>
  seen.filter(({ pid, identity }) => identityOf(pid) === identity).map(({ identity }) => identity);
