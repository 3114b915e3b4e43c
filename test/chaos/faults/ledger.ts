import { appendFileSync, readFileSync } from 'node:fs';

/** What the service has acknowledged, by kind; it must be true when the faults are over. */
export interface Acknowledged {
  registration: { email: string; password: string };
  identity: { id: string; email: string };
  'identity change': { id: string; firstName: string };
  login: { refreshToken: string };
  'admin login': { accessToken: string };
  refresh: { family: string; refreshToken: string };
  invite: { id: string; email: string };
  'invite revocation': { id: string };
  webhook: { id: string; url: string };
  'webhook deletion': { id: string };
  domain: { id: string; domain: string; published: boolean };
  'API key': { id: string; name: string; secret: string };
  'API key deletion': { id: string; secret: string };
  role: { id: string; name: string };
  assignment: { id: string; identityId: string };
  'assignment removal': { id: string; identityId: string };
}
export type Kind = keyof Acknowledged;

type Line = { [K in Kind]: { at: string; kind: K; what: Acknowledged[K] } }[Kind];

export type Ledger = ReturnType<typeof openLedger>;

/** Opens a file with a line for each acknowledgement, written before the next request. */
export function openLedger(path: string) {
  const read = (): Line[] =>
    readFileSync(path, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line));
  appendFileSync(path, '');
  return {
    note<K extends Kind>(kind: K, what: Acknowledged[K]): void {
      appendFileSync(path, `${JSON.stringify({ at: new Date().toISOString(), kind, what })}\n`);
    },
    of: <K extends Kind>(kind: K): Acknowledged[K][] =>
      read()
        .filter((line) => line.kind === kind)
        .map((line) => line.what as Acknowledged[K]),
    counts(): [Kind, number][] {
      const counts = new Map<Kind, number>();
      for (const { kind } of read()) counts.set(kind, (counts.get(kind) ?? 0) + 1);
      return [...counts].sort(([a], [b]) => (a < b ? -1 : 1));
    },
  };
}
