import { outboxLanes } from '../domain/outbox.js';
import type { Db, Statement } from '../platform/database/db.js';
import { nilUuid } from '../platform/uuid.js';

/**
 * A part of the outbox that is relayed by itself. One event can ask for a thousand deliveries, and a customer for a
 * thousand invites with a process and a mail each; sign-ups and emailed codes do not wait behind them.
 */
export type Lane = keyof typeof outboxLanes;

export interface Message {
  id: string;
  process: string;
  input: Record<string, unknown>;
  attempts: number;
  /** The trace of the change that asked for the process; null if none was stored. */
  traceparent: string | null;
}
/** A claimed message, or none, and the Account after which the next look continues. */
type Turn = (Message | { id: null }) & { next: string | null };

// A batch is leased and not locked, so that no transaction stays open while Temporal is called. If a relay dies,
// another one gets its batch when the lease ends; it is harmless to start a process again. The ids are an array: with a
// list of rows the planner, which does not know the limit, reads the whole table for each batch once much is waiting.
const lease = (
  ids: string,
) => `update outbox set due_at = clock_timestamp() + interval '15 seconds', attempts = attempts + 1
  where id = any (array(${ids})) returning id, process, input, attempts, traceparent`;

const oldest = (of: Lane): Statement => ({
  name: `outbox_claim_${of}`,
  text: lease(`select id from outbox where ${outboxLanes[of]} and due_at <= clock_timestamp()
    order by due_at, id limit $1 for update skip locked`),
});

// Goes from one Account to the next by an index, in which an Account's first message says whether any is due. So a look
// costs one step for each Account, however much each has waiting. The next look continues after the last Account that
// had a turn, or that was looked at; `next` is null after the last one of all.
const inTurn = (of: Lane): Statement => {
  const next = (after: string) => `(select account_id, due_at <= clock_timestamp() as is_due from outbox
    where ${outboxLanes[of]} and account_id > ${after} order by account_id, due_at, id limit 1)`;
  return {
    name: `outbox_claim_${of}_in_turn`,
    text: `with recursive accounts as (
      select account_id, is_due, 1 as place from ${next('$2')} first
      union all
      select next.account_id, next.is_due, accounts.place + 1
      from accounts cross join lateral ${next('accounts.account_id')} next where accounts.place < ${accountsInALook}
    ),
    turns as materialized (select account_id, place from accounts where is_due limit $1),
    claimed as (${lease(`select one.id from turns cross join lateral (select id from outbox
      where ${outboxLanes[of]} and account_id = turns.account_id and due_at <= clock_timestamp()
      order by due_at, id limit (select greatest(1, $1::int / count(*)) from turns) for update skip locked) one`)}
    ),
    look as (select case when (select count(*) from turns) >= $1 then (select account_id from turns order by place desc limit 1)
      else (select account_id from accounts where place = ${accountsInALook}) end as next)
    select claimed.*, look.next from look left join claimed on true`,
  };
};
const accountsInALook = 1_000;

// What is younger than now, or waits for longer than any message does (`pauseAfter`), was written before PostgreSQL's
// clock was set back.
const recall = (of: Lane): Statement => ({
  name: `outbox_recall_${of}`,
  text: `update outbox set due_at = clock_timestamp() where id = any (array(
    select id from outbox where ${outboxLanes[of]} and due_at > clock_timestamp()
      and greatest(created_at, due_at - interval '5 minutes') > clock_timestamp() for update skip locked))`,
});
/** Milliseconds between two recalls, which read all messages that wait for later. */
const recallEveryMs = 60_000;

/**
 * Claims the messages of a lane that are started next. While everything due fits into a batch, the oldest come first;
 * as soon as there is more, Accounts take turns, so that one's ten thousand deliveries do not delay another's first.
 * @param size of a batch
 */
export function createClaims(db: Pick<Db, 'statement'>, of: Lane, size: number) {
  const statements = { oldest: oldest(of), inTurn: inTurn(of), recall: recall(of) };
  /** The Account that had the last turn; null while the oldest come first. */
  let after: string | null = null;
  /** Whether this round, from the first Account on, has claimed anything. */
  let isOfUse = false;
  let recalledAt = Number.NEGATIVE_INFINITY;

  async function nextInTurn(from: string): Promise<{ messages: Message[]; more: boolean }> {
    const turns = await db.statement<Turn>(statements.inTurn, [size, from]);
    const messages = turns.filter((turn): turn is Turn & Message => turn.id !== null);
    isOfUse ||= messages.length > 0;
    after = turns[0]?.next ?? null;
    if (after === null && isOfUse) {
      after = nilUuid;
      isOfUse = false;
    }
    return { messages, more: after !== null };
  }

  async function recallNowAndThen(): Promise<void> {
    if (performance.now() - recalledAt < recallEveryMs) return;
    recalledAt = performance.now();
    await db.statement(statements.recall, []);
  }

  return {
    /** @returns the batch, leased, and whether more may wait */
    async next(): Promise<{ messages: Message[]; more: boolean }> {
      if (after !== null) return nextInTurn(after);
      const messages = await db.statement<Message>(statements.oldest, [size]);
      const more = messages.length === size;
      if (more) after = nilUuid;
      else await recallNowAndThen();
      return { messages, more };
    },
  };
}
