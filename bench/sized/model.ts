import type { Size } from './sizes.js';

/** Who holds what where, kept here too, so that the right answer to every question is known without asking. */
export interface Model {
  /** The parent of each node; the root is 0 and has -1. Parents come before their children. */
  parents: readonly number[];
  assignments: readonly HeldRole[];
  /** A random question whose right answer is `allowed`; it is about a leaf. */
  ask(random: Random, allowed: boolean): Question;
}

export interface HeldRole {
  identity: number;
  role: RoleName;
  node: number;
}

export interface Question {
  identity: number;
  permission: string;
  node: number;
  allowed: boolean;
}

export type RoleName = keyof typeof roles;
/** From 0 (included) to 1. */
export type Random = () => number;

/** What each role may do: each one more than the one before. */
export const roles = {
  Reader: ['documents.read'],
  Writer: ['documents.read', 'documents.write'],
  Keeper: ['documents.read', 'documents.write', 'documents.keep'],
} as const;
export const permissions = roles.Keeper;

const levels = 8;
/** Which share of the assignments sits on each level below the root. */
const shares = [0.05, 0.1, 0.15, 0.2, 0.2, 0.2, 0.1];

/** The same model for the same size, run after run. */
export function createModel({ identities, nodes, roleAssignments }: Size): Model {
  const starts = startsOf(levelSizes(nodes));
  const parents = parentsOf(starts);
  const children = parents.map((): number[] => []);
  for (const [node, parent] of parents.entries()) children[parent]?.push(node);
  const random = createRandom(42);
  const assignments = assign(starts, identities, roleAssignments, random);
  const held = new Map<number, HeldRole[]>();
  for (const each of assignments) held.set(each.identity, [...(held.get(each.identity) ?? []), each]);
  const holders = [...held.keys()];

  const leafBelow = (node: number, random: Random): number => {
    const below = children[node] as number[];
    return below.length === 0 ? node : leafBelow(pick(below, random), random);
  };
  const isAllowed = (identity: number, permission: string, node: number): boolean =>
    node >= 0 &&
    ((held.get(identity) ?? []).some((each) => each.node === node && grants(each.role, permission)) ||
      isAllowed(identity, permission, parents[node] as number));

  return {
    parents,
    assignments,
    ask(random, allowed) {
      for (;;) {
        const identity = pick(holders, random);
        const permission = pick(permissions, random);
        const near = pick(held.get(identity) as HeldRole[], random).node;
        const node = leafBelow(allowed ? near : 0, random);
        if (isAllowed(identity, permission, node) === allowed) return { identity, permission, node, allowed };
      }
    },
  };
}

const grants = (role: RoleName, permission: string) => (roles[role] as readonly string[]).includes(permission);

/** Mulberry32: quick, and the same for the same seed. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const pick = <T>(from: readonly T[], random: Random) => from[Math.floor(random() * from.length)] as T;

/** How many nodes each level has: one root, then each level as many times the one above, `nodes` together. */
function levelSizes(nodes: number): number[] {
  const sizesFor = (factor: number) => Array.from({ length: levels }, (_, level) => Math.round(factor ** level));
  const sum = (sizes: number[]) => sizes.reduce((total, size) => total + size, 0);
  let [low, high] = [1, nodes];
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2;
    if (sum(sizesFor(middle)) > nodes) high = middle;
    else low = middle;
  }
  const sizes = sizesFor(low);
  sizes[levels - 1] = (sizes[levels - 1] as number) + nodes - sum(sizes);
  return sizes;
}

/** The first node of each level, and the end of the last. */
function startsOf(sizes: readonly number[]): number[] {
  const starts = [0];
  for (const size of sizes) starts.push((starts.at(-1) as number) + size);
  return starts;
}

const sizeAt = (starts: readonly number[], level: number) => (starts[level + 1] as number) - (starts[level] as number);

/** Each level's nodes are dealt to those above in equal shares. */
function parentsOf(starts: readonly number[]): number[] {
  const parents = [-1];
  for (let level = 1; level < levels; level++) {
    const [above, size] = [sizeAt(starts, level - 1), sizeAt(starts, level)];
    for (let i = 0; i < size; i++) parents.push((starts[level - 1] as number) + Math.floor((i * above) / size));
  }
  return parents;
}

/** Different assignments, dealt to the identities in turn. */
function assign(starts: readonly number[], identities: number, count: number, random: Random): HeldRole[] {
  const names = Object.keys(roles) as RoleName[];
  const made = new Map<string, HeldRole>();
  while (made.size < count) {
    const level = levelFor(random());
    const node = (starts[level] as number) + Math.floor(random() * sizeAt(starts, level));
    const each = { identity: made.size % identities, role: pick(names, random), node };
    made.set(`${each.identity} ${each.role} ${each.node}`, each);
  }
  return [...made.values()];
}

function levelFor(share: number): number {
  let rest = share;
  for (const [index, part] of shares.entries()) {
    if (rest < part) return index + 1;
    rest -= part;
  }
  return levels - 1;
}
