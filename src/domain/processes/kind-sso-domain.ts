import { SsoDomain } from '../../../entities/sso-domain.js';
import { workflowIdOf } from '../../platform/process-kinds.js';
import { startLater } from '../outbox.js';
import { beginAnew, failClaim, ssoDomainInput } from '../sso-domains/process.js';
import { assertRoom, lockClaims } from '../sso-domains/room.js';
import { type DomainSchedule, timesFrom } from '../sso-domains/schedule.js';
import type { Kind, ProcessRow, ProcessSummary } from './kind.js';

/** What the processes show of a claim that was read already. */
export const processOfDomain = ({ id, status, startedAt, failsAt, nextCheckAt }: SsoDomain): ProcessSummary => ({
  id,
  kind: 'sso_domain',
  state: status,
  since: startedAt,
  deadline: failsAt,
  nextAt: nextCheckAt,
});

/** Claims of domains: checked until their record is found, and then for as long as they are verified. */
export const ssoDomainKind = (schedule: DomainSchedule): Kind => ({
  table: 'sso_domains',
  counted: ['sso_domains'],
  sql: `
select id, 'sso_domain' as kind, account_id as "accountId", environment_id as "environmentId", 'sso_domain' as "subjectType",
  id as "subjectId", status as state, started_at as since, fails_at as deadline, created_at as "createdAt",
  ended_at as "endedAt", failure_reason as "endedReason", next_check_at as "nextAt", status as stored
from sso_domains where account_id = $1`,
  open: { pending: 'dns_record', lapsed: 'dns_record', verified: 'its_next_moment' },
  ended: ['failed'],
  verbs: { cancel: ['pending', 'lapsed', 'verified'], retry: ['failed'] },
  workflowId: (row) => workflowIdOf('ssoDomainVerification', inputOf(row)),
  wakesUpAt: ({ nextAt }) => nextAt,
  async lockFirst(tx, id) {
    const claim = await tx.findOneBy(SsoDomain, { id });
    if (claim) await lockClaims(tx, claim.accountId);
  },
  async cancel(tx, { id, accountId }, now) {
    const claim = await tx.findOneByOrFail(SsoDomain, { accountId, id });
    await failClaim(tx, claim, 'cancelled_by_operator', now());
    await startLater(tx, 'ssoDomainVerification', ssoDomainInput(claim, 'cancelled')); // it finds the row ended, and ends
  },
  async retry(tx, row, now) {
    await assertRoom(tx, await tx.findOneByOrFail(SsoDomain, { accountId: row.accountId, id: row.id }));
    await beginAnew(tx, row, timesFrom(now(), schedule));
    await startLater(tx, 'ssoDomainVerification', { ...inputOf(row), news: 'claimed_again' });
  },
});

const inputOf = ({ id, accountId, environmentId }: ProcessRow) => ssoDomainInput({ id, accountId, environmentId });
