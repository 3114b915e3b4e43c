import type { Profiler } from 'node:inspector';
import type { Owner, Place, Position } from './places.js';

/** A function called from one place, with the functions that it called. */
export interface Frame {
  name: string;
  owner: Owner;
  place: string;
  /** Samples in the function and in what it called. */
  samples: number;
  /** Samples in the function itself. */
  own: number;
  /** The called functions, the largest first. */
  children: Frame[];
}

const idle = '(idle)';

/** Returns the call tree of a profile without idle time. @param placeOf returns where a function is */
export function framesOf({ nodes }: Profiler.Profile, placeOf: (position: Position) => Place): Frame {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const childrenOf = (parents: readonly Profiler.ProfileNode[]) =>
    parents
      .flatMap(({ children = [] }) => children)
      .flatMap((id) => byId.get(id) ?? [])
      .filter(({ callFrame }) => callFrame.functionName !== idle);

  /** Merges nodes that only V8 distinguishes, such as two copies of a closure, into one frame. */
  function grouped(all: readonly Profiler.ProfileNode[]): Frame[] {
    const groups = new Map<string, { name: string; place: Place; members: Profiler.ProfileNode[] }>();
    for (const node of all) {
      const name = node.callFrame.functionName || '(anonymous)';
      const place = placeOf(node.callFrame);
      const key = `${name} ${place.text}`;
      const group = groups.get(key) ?? { name, place, members: [] };
      group.members.push(node);
      groups.set(key, group);
    }
    return [...groups.values()]
      .map(({ name, place, members }) => frameOf(name, place, members))
      .filter(({ samples }) => samples > 0)
      .sort((a, b) => b.samples - a.samples || a.name.localeCompare(b.name));
  }

  function frameOf(name: string, { owner, text }: Place, members: readonly Profiler.ProfileNode[]): Frame {
    const children = grouped(childrenOf(members));
    const own = members.reduce((sum, { hitCount = 0 }) => sum + hitCount, 0);
    return {
      name,
      owner,
      place: text,
      own,
      samples: children.reduce((sum, { samples }) => sum + samples, own),
      children,
    };
  }

  const called = new Set(nodes.flatMap(({ children = [] }) => children));
  const roots = nodes.filter(({ id }) => !called.has(id));
  return frameOf('all', { owner: 'v8', text: '' }, roots);
}
