import type { Cell } from '../cells.js';
import type { Results, Share } from '../report.js';

/** What a workload is to reach at 16 connections, with one api process or with one for each core, whichever does better. */
export interface Aim {
  workload: string;
  /** Operations per second, or the part of the machine's limit. */
  atLeast: { perSecond: number } | { ofLimit: number };
  /** What that is of. Peers were measured on a machine of two cores, with PostgreSQL and the load on it too (docs/performance.md). */
  of: string;
}

const keycloak = (perSecond: number, times = 1) => ({ perSecond: perSecond * times });

export const aims: readonly Aim[] = [
  { workload: 'refresh', atLeast: keycloak(552, 2), of: '2 × Keycloak, whose sessions are written asynchronously' },
  { workload: 'refresh', atLeast: { perSecond: 0.9 * 1370 }, of: '0.9 × oidc-provider in memory, with JWTs' },
  { workload: 'login', atLeast: { ofLimit: 0.95 }, of: 'of the argon2id limit' },
  { workload: 'userinfo', atLeast: keycloak(5914), of: 'Keycloak' },
  { workload: 'discovery', atLeast: keycloak(8802), of: 'Keycloak' },
  { workload: 'jwks', atLeast: keycloak(8392), of: 'Keycloak' },
  { workload: 'evaluate-allowed@large', atLeast: { perSecond: 4 * 1312 }, of: '4 × OpenFGA' },
  { workload: 'evaluate-denied@large', atLeast: { perSecond: 4 * 994 }, of: '4 × OpenFGA' },
  { workload: 'evaluate-bulk-50@large', atLeast: { perSecond: 40 * 26 }, of: '40 × OpenFGA' },
  { workload: 'identities-first@large', atLeast: keycloak(625, 3), of: '3 × Keycloak' },
  { workload: 'identities-last@large', atLeast: keycloak(27, 40), of: '40 × Keycloak' },
  { workload: 'identities-search-one@large', atLeast: keycloak(87, 20), of: '20 × Keycloak' },
  { workload: 'identities-create@large', atLeast: keycloak(737), of: 'Keycloak' },
];

export interface Reached {
  aim: Aim;
  /** In what the aim counts. */
  reached: number;
  /** Of the aim; 1 is there. */
  share: number;
  processes: number;
}

/** How near the run came to each aim whose workload was in it. */
export function reachedAims({ cells }: Pick<Results, 'cells'>, shareOf: (cell: Cell) => Share | null): Reached[] {
  return aims.flatMap((aim) => {
    const at16 = cells.filter(({ workload, concurrency }) => workload === aim.workload && concurrency === 16);
    const [best] = at16.map((cell) => reachedBy(aim, cell, shareOf(cell))).sort((a, b) => b.share - a.share);
    return best ? [best] : [];
  });
}

function reachedBy(aim: Aim, cell: Cell, share: Share | null): Reached {
  const { processes } = cell;
  if ('perSecond' in aim.atLeast) {
    return { aim, processes, reached: cell.perSecond, share: cell.perSecond / aim.atLeast.perSecond };
  }
  const reached = share?.ofLimit ?? 0;
  return { aim, processes, reached, share: reached / aim.atLeast.ofLimit };
}
