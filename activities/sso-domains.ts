import type { DomainChecks } from '../src/domain/sso/domain-checks.js';
import { settled } from './settled.js';

export type { DomainLook } from '../src/domain/sso/domain-checks.js';
export type SsoDomainActivities = ReturnType<typeof createSsoDomainActivities>;

export const createSsoDomainActivities = ({ domainChecks }: { domainChecks: DomainChecks }) => ({
  readDomain: (id: string) => settled(() => domainChecks.read(id)),
  checkDomain: (id: string) => settled(() => domainChecks.check(id)),
  cancelDomain: (id: string) => settled(() => domainChecks.cancel(id)),
});
