import type { Cell } from '../cells.js';
import { type PeerFigure, perSecondOf } from './peer-figures.js';
import type { Results, Share } from './text.js';

/** A comparable service and what it does, by the names that its driver uses. */
interface Peer {
  name: string;
  target: string;
  workload: string;
  /**
   * Operations per second on a machine with two cores, which also runs PostgreSQL and the load (docs/performance.md).
   */
  perSecond: number;
}

/** The goal of a workload at 16 connections, with one api process or with one per core, whichever is better. */
export type Aim = AimOf & ({ times: number; peer: Peer } | { ofLimit: number; limit: string });

interface AimOf {
  workload: string;
  /** A remark about the peer. */
  but?: string;
}

const keycloak = (workload: string, perSecond: number, target = 'keycloak'): Peer => ({
  name: 'Keycloak',
  target,
  workload,
  perSecond,
});
const openFga = (workload: string, perSecond: number): Peer => ({
  name: 'OpenFGA',
  target: 'openfga',
  workload,
  perSecond,
});
const oidcProvider = { name: 'oidc-provider', target: 'oidc-provider-jwt', workload: 'refresh', perSecond: 1370 };

export const aims: readonly Aim[] = [
  {
    workload: 'refresh',
    times: 2,
    peer: keycloak('refresh', 552, 'keycloak-rotate'),
    but: 'whose sessions are written asynchronously',
  },
  { workload: 'refresh', times: 0.9, peer: oidcProvider, but: 'in memory, with JWTs' },
  { workload: 'login', ofLimit: 0.95, limit: 'argon2id' },
  {
    workload: 'login-hashing-aside',
    times: 2,
    peer: keycloak('login', 269, 'keycloak-fasthash'),
    but: 'which makes one round of PBKDF2',
  },
  { workload: 'userinfo', times: 1, peer: keycloak('userinfo', 5914) },
  { workload: 'discovery', times: 1, peer: keycloak('discovery', 8802) },
  { workload: 'jwks', times: 1, peer: keycloak('jwks', 8392) },
  { workload: 'evaluate-allowed@large', times: 4, peer: openFga('check-allowed', 1312) },
  { workload: 'evaluate-denied@large', times: 4, peer: openFga('check-denied', 994) },
  { workload: 'evaluate-bulk-50@large', times: 40, peer: openFga('batch-check-50', 26) },
  { workload: 'identities-first@large', times: 3, peer: keycloak('list-first@100k', 625) },
  { workload: 'identities-last@large', times: 40, peer: keycloak('list-deep@100k', 27) },
  { workload: 'identities-search-one@large', times: 20, peer: keycloak('search-one@100k', 87) },
  { workload: 'identities-create@large', times: 1, peer: keycloak('create', 737) },
];

const atConnections = 16;

/** Whether a cell is compared with an aim. */
export const isHeldAgainst = (workload: string, concurrency: number): boolean =>
  concurrency === atConnections && aims.some((aim) => aim.workload === workload);

export interface Reached {
  aim: Aim;
  /** The peer's figure, `isBeside` if measured with this run; null if the aim is a share of the machine's limit. */
  peer: { perSecond: number; isBeside: boolean } | null;
  /** In the unit of the aim: operations per second, or the share of the limit. */
  wanted: number;
  reached: number;
  /** The share of the aim that was reached; 1 meets it. */
  share: number;
  processes: number;
}

/** Returns how close the run came to each aim of its workloads, given the peers that were measured with it. */
export function reachedAims(
  { cells, peers = [] }: Pick<Results, 'cells' | 'peers'>,
  shareOf: (cell: Cell) => Share | null,
): Reached[] {
  return aims.flatMap((aim) => {
    const at16 = cells.filter(
      ({ workload, concurrency }) => workload === aim.workload && concurrency === atConnections,
    );
    const [best] = at16.map((cell) => reachedBy(aim, cell, { peers, shareOf })).sort((a, b) => b.share - a.share);
    return best ? [best] : [];
  });
}

function reachedBy(
  aim: Aim,
  cell: Cell,
  { peers, shareOf }: { peers: readonly PeerFigure[]; shareOf: (cell: Cell) => Share | null },
): Reached {
  const { processes } = cell;
  if ('ofLimit' in aim) {
    const reached = shareOf(cell)?.ofLimit ?? 0;
    return { aim, peer: null, wanted: aim.ofLimit, reached, share: reached / aim.ofLimit, processes };
  }
  const beside = perSecondOf(peers, aim.peer);
  const perSecond = beside ?? aim.peer.perSecond;
  const wanted = aim.times * perSecond;
  const peer = { perSecond, isBeside: beside !== null };
  return { aim, peer, wanted, reached: cell.perSecond, share: cell.perSecond / wanted, processes };
}
