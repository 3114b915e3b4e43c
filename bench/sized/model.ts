import type { Size } from './sizes.js';

/** A copy of who holds which role where, so that the right answer to every question is known in advance. */
export interface Model {
  /** The parent of each node; the root is 0 and has -1. Parents come before their children. */
  parents: readonly number[];
  assignments: readonly HeldRole[];
  /** Returns a random question about a leaf, whose right answer is `allowed`. */
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
/** Returns a number from 0 (inclusive) to 1 (exclusive). */
export type Random = () => number;

/** The permissions of each role: each role has one more than the role before. */
export const roles = {
  Reader: ['documents.read'],
  Writer: ['documents.read', 'documents.write'],
  Keeper: ['documents.read', 'documents.write', 'documents.keep'],
} as const;
export const permissions = roles.Keeper;

const levels = 8;
/** The share of the assignments on each level below the root. */
const shares = [0.05, 0.1, 0.15, 0.2, 0.2, 0.2, 0.1];

/** Creates the model; the same size yields the same model in every run. */
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

/** Creates a Mulberry32 generator: fast, and the same numbers for the same seed. */
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

/** Returns the number of nodes per level: one root, then the same factor from level to level, `nodes` in total. */
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

/** Returns the first node of each level, and the end of the last one. */
function startsOf(sizes: readonly number[]): number[] {
  const starts = [0];
  for (const size of sizes) starts.push((starts.at(-1) as number) + size);
  return starts;
}

const sizeAt = (starts: readonly number[], level: number) => (starts[level + 1] as number) - (starts[level] as number);

/** Returns the parent of each node: a level's nodes are distributed equally among those above. */
function parentsOf(starts: readonly number[]): number[] {
  const parents = [-1];
  for (let level = 1; level < levels; level++) {
    const [above, size] = [sizeAt(starts, level - 1), sizeAt(starts, level)];
    for (let i = 0; i < size; i++) parents.push((starts[level - 1] as number) + Math.floor((i * above) / size));
  }
  return parents;
}

/** Returns distinct assignments, given to the identities in turn. */
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
