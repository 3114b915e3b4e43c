import type { DomainChecks, DomainLook } from '../src/domain/sso-domains/checks.js';
import { settled } from './settled.js';
import { withWait } from './waiting.js';

export type { DomainLook } from '../src/domain/sso-domains/checks.js';
export type SsoDomainActivities = ReturnType<typeof createSsoDomainActivities>;

export const createSsoDomainActivities = ({ domainChecks }: { domainChecks: DomainChecks }) => ({
  readDomain: (id: string) => settled(async () => waiting(await domainChecks.read(id))),
  /** @param endedAt the end of the claim when a person asked for this check; null for one by the clock */
  checkDomain: (id: string, endedAt: string | null = null) =>
    settled(async () => waiting(await domainChecks.check(id, endedAt))),
  cancelDomain: (id: string) => settled(() => domainChecks.cancel(id)),
});

const waiting = (look: DomainLook) => withWait(look, look.nextCheckAt);
