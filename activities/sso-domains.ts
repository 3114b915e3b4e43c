import type { DomainChecks, DomainLook } from '../src/domain/sso-domains/checks.js';
import { settled } from './settled.js';
import { withWait } from './waiting.js';

export type { DomainLook } from '../src/domain/sso-domains/checks.js';
export type SsoDomainActivities = ReturnType<typeof createSsoDomainActivities>;

export const createSsoDomainActivities = ({ domainChecks }: { domainChecks: DomainChecks }) => ({
  readDomain: (id: string) => settled(async () => waiting(await domainChecks.read(id))),
  checkDomain: (id: string) => settled(async () => waiting(await domainChecks.check(id))),
  cancelDomain: (id: string) => settled(() => domainChecks.cancel(id)),
});

const waiting = (look: DomainLook) => withWait(look, look.nextCheckAt);
