import type { Clock } from '../../../platform/clock.js';
import { hashSecret } from '../../../platform/crypto/one-time-secret.js';
import { byPosition, createBatcher } from '../../../platform/database/batching.js';
import type { Db } from '../../../platform/database/db.js';
import { uuidArray } from '../../../platform/database/uuid-array.js';
import { belongingOfSignIn } from '../../organizations/belonging.js';
import type { Client } from '../clients/clients.js';
import { authTimeIn, type Granted, subjectColumns } from './claims.js';

/** A code as a client presents it, and the grant to be made of it. */
export interface PresentedCode {
  client: Pick<Client, 'id' | 'accountId' | 'environmentId' | 'settings'>;
  code: string;
  redirectUri: string | null;
  /** The challenge of the verifier that came with it. */
  challenge: string | null;
  grantId: string;
  refreshToken: string;
}

/** What a presented code has led to. */
export interface Outcome {
  /** The grant for which the code was redeemed before. */
  spentFor: string | null;
  /** Null if it was not redeemed this time. */
  granted: Granted | null;
  nonce: string | null;
}

type Row = Omit<Granted, 'grantId'> & Pick<Outcome, 'spentFor' | 'nonce'> & { position: string; redeemed: boolean };

const ofCode = {
  end: `$3::timestamptz + interval '1 second' * presented.longest_seconds`,
  authenticatedAt: 'presented.authenticated_at',
  environment: 'presented.environment_id',
  identity: 's.identity_id',
  organization: 'presented.organization_id',
};
/**
 * The columns by which a code's row is written again: PostgreSQL then finds it by its key, whatever the planner
 * believes of the table.
 */
const codeColumns = `code_hash, account_id, environment_id, oauth_client_id, session_id, redirect_uri, scope, nonce, code_challenge,
    authenticated_at, auth_time, amr, acr, created_at, expires_at, organization_id`;

/**
 * Redeems any number of codes at once. Values, all but $3 lists in one order: $1 hashes of the codes, each once, $2
 * their clients, $3 now, $4 redirect URIs, $5 challenges, $6 the grants' ids, $7 for how many seconds each lasts at
 * most, $8 hashes of the refresh tokens, $9 for how many seconds those last.
 *
 * The locks make parallel redemptions queue, always in one order, and a waiting one then sees that the code is spent. A
 * code of another client, redirect URI or verifier is left as it was: its rightful client can still redeem it. Each is
 * found by its key: `is true` keeps the planner from the client's index (docs/decisions/0025).
 *
 * The session is locked, too: its end comes first, and is seen here, or it finds the grant, which it ends and whose
 * client it tells (docs/decisions/0110). Its person is locked before it, as by whatever ends a person's sessions: the
 * foreign keys of the grant would lock both rows anyway, and that of the person last. Whatever ends many sessions locks
 * them in an order of its own, so several codes wait for no person or session that somebody else has locked, and are
 * left.
 */
const redeeming = (ifLocked: '' | 'skip locked') => `
with asked as materialized (
  select * from unnest($1::bytea[], $2::uuid[], $4::text[], $5::text[], $6::uuid[], $7::integer[], $8::bytea[], $9::integer[])
    with ordinality as asked (shown_hash, client_id, shown_uri, shown_challenge, new_grant_id, longest_seconds, refresh_hash,
      lasts_seconds, position)
  order by shown_hash
),
presented as materialized (
  select asked.*, code.* from asked cross join lateral (
    select * from authorization_codes where code_hash = asked.shown_hash and (oauth_client_id = asked.client_id) is true offset 0 for update
  ) code
),
live as (
  select presented.*, s.identity_id, least(belonging.ends_at, s.not_on_or_after) as ends_at
  from presented
    cross join lateral (select identity_id as whose_id from sessions where id = session_id offset 0) whose
    cross join lateral (select id as held_id from identities where id = whose_id offset 0 for key share ${ifLocked}) person
    cross join lateral (select identity_id, revoked_at, not_on_or_after from sessions
      where id = session_id and (identity_id = held_id) is true offset 0 for share ${ifLocked}) s
    cross join lateral (select is_active from environment_memberships m
      where m.environment_id = presented.environment_id and m.identity_id = s.identity_id offset 0) m
    cross join ${belongingOfSignIn(ofCode)} belonging
  where grant_id is null and presented.expires_at > $3 and redirect_uri = shown_uri
    and code_challenge is not distinct from shown_challenge and s.revoked_at is null and m.is_active and belonging.belongs
    and least(belonging.ends_at, s.not_on_or_after) > $3
),
granted as (
  insert into grants (id, account_id, environment_id, oauth_client_id, identity_id, session_id, scope, authenticated_at, auth_time, amr, acr,
    created_at, expires_at, organization_id)
  select new_grant_id, account_id, environment_id, oauth_client_id, identity_id, session_id, scope, authenticated_at, auth_time, amr, acr, $3,
    ends_at, organization_id
  from live
),
refreshable as (
  insert into refresh_tokens (token_hash, kind, family_id, created_at, expires_at)
  select refresh_hash, 'grant', new_grant_id, $3, least($3 + interval '1 second' * lasts_seconds, ends_at) from live
),
spent as (
  insert into authorization_codes (${codeColumns}, grant_id) select ${codeColumns}, new_grant_id from live
  on conflict (code_hash) do update set grant_id = excluded.grant_id
)
select presented.position, presented.grant_id as "spentFor", live.code_hash is not null as redeemed, live.nonce,
  live.session_id as "sessionId", live.scope, ${authTimeIn('live')}, live.amr, live.acr, live.organization_id as "organizationId",
  ${subjectColumns}
from presented left join live on live.position = presented.position
  left join lateral (select * from identities where id = live.identity_id offset 0) i on true`;

const redeemOne = { name: 'redeem_authorization_code', text: redeeming('') };
const redeemMany = { name: 'redeem_authorization_codes', text: redeeming('skip locked') };

/** Redeems codes; those that come at the same time in one statement. */
export function createRedemption({ db, now }: { db: Pick<Db, 'statement'>; now: Clock }) {
  /** Null for a code that was left because somebody else has locked its session or person; one alone is never left. */
  async function redeemEach(shown: readonly PresentedCode[]): Promise<(Outcome | null)[]> {
    const rows = await db.statement<Row>(
      shown.length === 1 ? redeemOne : redeemMany,
      [
        shown.map(({ code }) => hashSecret(code)),
        uuidArray(shown.map(({ client }) => client.id)),
        now(),
        shown.map(({ redirectUri }) => redirectUri),
        shown.map(({ challenge }) => challenge),
        uuidArray(shown.map(({ grantId }) => grantId)),
        shown.map(({ client }) => client.settings.refreshTokenMaxTtlSeconds),
        shown.map(({ refreshToken }) => hashSecret(refreshToken)),
        shown.map(({ client }) => client.settings.refreshTokenTtlSeconds),
      ],
      shown[0]?.client.accountId,
    );
    return byPosition(shown, rows).map((row, at) => {
      const mayBeLeft = shown.length > 1 && row !== undefined && !row.redeemed && row.spentFor === null;
      return mayBeLeft ? null : outcomeOf(row, (shown[at] as PresentedCode).grantId);
    });
  }

  const together = createBatcher<PresentedCode, Outcome | null>((_environmentId, shown) => redeemEach(shown));
  const redeeming = new Map<string, Promise<Outcome>>();

  async function redeem(shown: PresentedCode): Promise<Outcome> {
    const [outcome] = await together(shown.client.environmentId, [shown]);
    return outcome ?? ((await redeemEach([shown]))[0] as Outcome);
  }

  return async (shown: PresentedCode): Promise<Outcome> => {
    const { code } = shown;
    // A statement does not see its own writes: a code that comes twice at once waits here for the next one, which finds
    // it spent.
    while (redeeming.has(code)) await redeeming.get(code)?.catch(() => {});
    const outcome = redeem(shown);
    redeeming.set(code, outcome);
    try {
      return await outcome;
    } finally {
      redeeming.delete(code);
    }
  };
}

const outcomeOf = (row: Row | undefined, grantId: string): Outcome => {
  if (!row) return { spentFor: null, granted: null, nonce: null };
  const { position: _, redeemed, spentFor, nonce, ...granted } = row;
  return { spentFor, granted: redeemed ? { ...granted, grantId } : null, nonce };
};
