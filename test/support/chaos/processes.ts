import { readdirSync, readFileSync } from 'node:fs';
import { identityOf } from '../../../src/platform/embedded/claims.js';

interface Seen {
  pid: number;
  parent: number;
  session: number;
}

/** proc(5): the name in brackets may hold anything; after it come state, parent, group and session. */
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
        return []; // gone since
      }
    });
}

/** Command lines of what lives in the session that `leader` leads or led. */
export const livingIn = (leader: number): string[] =>
  processes()
    .filter(({ session }) => session === leader)
    .flatMap(({ pid }) => identityOf(pid) ?? []);

/** Everything that `ancestor` has started, directly or not, as it is now. */
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

/** Those of them that live still; an id alone may be somebody else's by now. */
export const stillAlive = (seen: readonly { pid: number; identity: string }[]): string[] =>
  seen.filter(({ pid, identity }) => identityOf(pid) === identity).map(({ identity }) => identity);
