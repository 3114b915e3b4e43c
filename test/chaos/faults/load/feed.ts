import { type Actor, isStatus, viaApi, type World } from '../world.js';

export interface Change {
  cursor: string;
  type: string;
  resource_id: string | null;
}
interface Page {
  items: Change[];
  next_cursor: string;
  has_more: boolean;
}

/** Follows the change feed during the whole run, and reads it from the start afterwards. */
export function createFeedReader(world: World) {
  const seen: Change[] = [];
  let cursor: string | null = null;

  async function read(from: string | null, wait: number): Promise<Page | null> {
    const at = from === null ? '' : `&cursor=${from}`;
    const answer = await viaApi(world, 'changes', { path: `/changes?limit=1000&wait=${wait}${at}` });
    return isStatus(world, 'changes', answer, 200) ? (JSON.parse(answer.body) as Page) : null;
  }

  const follower: Actor = {
    name: 'change feed',
    everyMs: 50,
    async step() {
      const page = await read(cursor, 2);
      if (!page) return;
      seen.push(...page.items);
      cursor = page.next_cursor;
    },
  };

  return {
    follower,
    seen,
    async fromTheBeginning(): Promise<Change[]> {
      const all: Change[] = [];
      let next: string | null = null;
      for (;;) {
        const page: Page | null = await read(next, 0);
        if (!page) return all;
        all.push(...page.items);
        if (!page.has_more) return all;
        next = page.next_cursor;
      }
    },
  };
}
