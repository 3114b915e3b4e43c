import { ssoDomainId } from '../../../workflows/ids.js';
import { outcomeOf } from '../answers.js';
import type { Call } from '../calls.js';
import type { Random } from '../random.js';
import type { Act, Row, Subject } from './subject.js';
import { verbs } from './verbs.js';
import { domainSchedule, type ProcessWorld } from './world.js';

interface Claim extends Row {
  domain: string;
  record: string;
  isPublished: boolean;
  startedAt: number;
  nextLook: number;
  failsAt: number;
  absentSince: number | null;
}
const { pauses, recheckMs, lapseAfterMs } = domainSchedule;
const looks = pauses.map((_, i) => pauses.slice(0, i + 1).reduce((sum, one) => sum + one, 0));
const life = looks.at(-1)!;

/** Claims of domains, one after the other: looked up when their time has come, for as long as they are not over. */
export function newDomains(world: ProcessWorld, random: Random, owner: Call): Subject {
  const rows: Claim[] = [];
  const end = (row: Claim, status: 'failed' | 'lapsed') => {
    row.status = status;
    row.events.push(status);
  };
  const begin = (row: Claim) => {
    const now = world.now();
    Object.assign(row, { status: 'pending', startedAt: now, failsAt: now + life, nextLook: now + looks[0]! });
    row.absentSince = null;
  };
  /** What a look at the zone makes of a claim (docs/sso-domains.md). */
  function look(row: Claim): string {
    const now = world.now();
    if (row.isPublished) {
      if (row.status !== 'verified') row.events.push('verified');
      Object.assign(row, { status: 'verified', nextLook: now + recheckMs, absentSince: null });
    } else if (row.status === 'verified') {
      // An absence begins with the look that finds it, and with a late one if nobody has looked for as long as it may last.
      if (row.absentSince === null || now > row.nextLook + lapseAfterMs) row.absentSince = now;
      row.nextLook = now + recheckMs;
      const lapsesAt = row.absentSince + lapseAfterMs;
      if (now < lapsesAt) row.nextLook = Math.min(row.nextLook, lapsesAt);
      else {
        end(row, 'lapsed');
        row.failsAt = now + life;
      }
    } else if (row.status !== 'failed') {
      if (now >= row.failsAt) end(row, 'failed');
      else if (row.status === 'lapsed') row.nextLook = now + recheckMs;
      else row.nextLook = row.startedAt + looks.find((one) => row.startedAt + one > now)!;
    }
    return row.status;
  }

  const claim = (): Act => ({
    name: 'a claim',
    async send() {
      const domain = `d-${random.below(1e9)}.private.example`;
      const answer = await owner('POST', '/sso/domains', { domain });
      if (answer.statusCode !== 201) return answer.body;
      const { id, txt_record_value: record } = answer.json().data;
      const row: Claim = {
        ...{ table: 'sso_domains', id, workflowId: ssoDomainId(id), status: '', events: [], mails: [], domain, record },
        ...{ isPublished: false, startedAt: 0, nextLook: 0, failsAt: 0, absentSince: null },
        stop: () => end(row, 'failed'),
      };
      begin(row);
      rows.push(row);
      return '201';
    },
    apply: () => '201',
  });
  const acts = (row: Claim): Record<string, Omit<Act, 'name'>> => {
    const { cancel, retry } = verbs(owner, row, () => begin(row), { canResume: () => row.status === 'failed' });
    return {
      cancel: {
        ...cancel,
        apply() {
          if (row.status === 'failed') return '409 process.not_running';
          end(row, 'failed');
          return '200';
        },
      },
      retry,
      zone: {
        async send() {
          const name = `_svc-verification.${row.domain}`;
          world.dns.set(name, row.isPublished ? { absent: 'nxdomain', ttl: 0 } : { txt: [row.record] });
          return 'changed';
        },
        apply() {
          row.isPublished = !row.isPublished;
          return 'changed';
        },
      },
      verify: {
        async send() {
          const answer = await owner('POST', `/sso/domains/${row.domain}/verify`);
          return answer.statusCode === 200 ? answer.json().data.status : outcomeOf(answer);
        },
        apply: () => look(row),
      },
      release: {
        send: async () => outcomeOf(await owner('DELETE', `/sso/domains/${row.domain}`)),
        apply() {
          Object.assign(row, { status: 'gone', events: [] });
          return '204';
        },
      },
    };
  };
  return {
    rows,
    draw(isFirst) {
      const row = rows.at(-1);
      if (!row || row.status === 'gone' || (row.status === 'failed' && random.below(3) === 0)) return claim();
      const act = random.of(['zone', 'zone', 'zone', 'verify', 'verify', 'release', 'cancel', 'retry']);
      if (act === 'verify' && !world.isWorking()) return undefined;
      if ((act === 'retry' || (act === 'verify' && row.status === 'failed')) && !isFirst) return undefined;
      if (act === 'release' && random.below(2) === 0) return undefined;
      return { name: `${act} ${row.workflowId}`, ...acts(row)[act]! };
    },
    passes() {
      for (const row of rows)
        if (['pending', 'verified', 'lapsed'].includes(row.status) && row.nextLook <= world.now()) look(row);
    },
  };
}
