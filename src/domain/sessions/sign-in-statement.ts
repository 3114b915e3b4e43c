import { eventInsert } from '../events.js';
import { endedByPolicy } from '../organizations/belonging.js';
import { codeInsert } from './code-insert.js';
import { standingAtProvider } from './provider-standing.js';

/** What a sign-in comes to; none where no session begins. */
export interface SignInRow {
  id: string;
  expiresAt: Date;
  /** Sessions of other people that ended with it. */
  replaced: number;
}

/** Whether the session at the identity provider stands, or the session here goes on by it. */
const providerLook = `provider as materialized (
  ${standingAtProvider('$20::uuid and exists (select from person)')}
),
trusted as materialized (
  select from person where exists (select from provider) or exists (
    select from sessions where browser_hash = $1 and environment_id = $5 and identity_id = $6 and revoked_at is null
      and sso_session_id = $20)
),
`;

/**
 * All sessions of a browser move to its new cookie, so that a value from before the sign-in is worth nothing. In this
 * Environment the same Identity goes on in its session; another one's ends. Sessions that have expired stay behind with the
 * old value: their refresh tokens are good until they are revoked.
 *
 * A new password locks the Identity and ends the sessions of the old one: either it finds this session, or it is found here,
 * and no session begins. One that goes on needs no such look: had it ended, it would not be found. The same holds for the session
 * at an identity provider by which somebody comes; who comes by none does not pay for that look. Where a session of before is to
 * become stronger ($22), none begins in its place: it can have been ended while its person looked for their phone.
 */
const signInText = ({ byProvider }: { byProvider: boolean }) => `
with life as materialized (
  select ${endedByPolicy('$9::timestamptz', '$15::timestamptz', '$5::uuid', '$6::uuid')} as expires_at
),
person as materialized (
  select case
      when $17::boolean then date_trunc('milliseconds', password_changed_at) is not distinct from $18::timestamptz
      else password_changed_at is null or password_changed_at <= $15::timestamptz or not 'pwd' = any ($7::text[])
    end as unchanged
  from identities where id = $6 and (account_id = $4) is true for share
),
${byProvider ? providerLook : ''}moved as (
  update sessions set browser_hash = $2,
    authenticated_at = case when environment_id = $5 and identity_id = $6 then $15 else authenticated_at end,
    second_factor_at = case when environment_id = $5 and identity_id = $6 then $16 else second_factor_at end,
    amr = case when environment_id = $5 and identity_id = $6 then $7 else amr end,
    acr = case when environment_id = $5 and identity_id = $6 then $8 else acr end,
    sso_connection_id = case when environment_id = $5 and identity_id = $6 then $19::uuid else sso_connection_id end,
    sso_session_id = case when environment_id = $5 and identity_id = $6 then $20::uuid else sso_session_id end,
    expires_at = case when environment_id = $5 and identity_id = $6 then (select expires_at from life) else expires_at end,
    used_at = case when environment_id = $5 and identity_id = $6 then $3 else used_at end,
    ip_address = case when environment_id = $5 and identity_id = $6 then $10 else ip_address end,
    user_agent = case when environment_id = $5 and identity_id = $6 then $11 else user_agent end,
    revoked_at = case when environment_id = $5 and identity_id <> $6 then $3 end
  where browser_hash = $1 and expires_at > $3::timestamptz and revoked_at is null
    and (not $22::boolean or exists (select from sessions own where own.browser_hash = $1 and own.environment_id = $5
      and own.identity_id = $6 and own.expires_at > $3::timestamptz and own.revoked_at is null))
    and exists (select from ${byProvider ? 'trusted' : 'person'}) -- locked before the sessions, as by whoever changes the password, or ends them
  returning id, environment_id, identity_id, expires_at, revoked_at
),
kept as (
  select id from moved where environment_id = $5 and revoked_at is null
),
created as (
  insert into sessions (id, account_id, environment_id, identity_id, browser_hash, authenticated_at, second_factor_at, amr, acr,
    ip_address, user_agent, created_at, used_at, expires_at, sso_connection_id, sso_session_id)
  select $12::uuid, $4::uuid, $5::uuid, $6::uuid, $2::bytea, $15::timestamptz, $16::timestamptz, $7::text[], $8::text, $10::text, $11::text, $3, $3, (select expires_at from life), $19::uuid, $20::uuid
  where not $22::boolean and not exists (select from kept) and (select unchanged from person)${byProvider ? ' and exists (select from trusted)' : ''}
  returning id
),
going_on as (
  select id from kept union all select id from created
),
issued as (${codeInsert('$21', { sessionId: 'going_on.id', from: ' cross join going_on' })}),
signed_in as (${eventInsert('$13', {
  metadata: `e.metadata || jsonb_build_object('session_id', going_on.id)`,
  from: ' cross join going_on',
})}),
signed_out as (${eventInsert('$14', {
  resourceId: 'moved.id::text',
  actorId: 'moved.identity_id::text',
  from: ' join moved on moved.revoked_at is not null',
})})
select id, greatest((select expires_at from life), (select max(expires_at) from moved where revoked_at is null)) as "expiresAt",
  (select count(*)::int from moved where revoked_at is not null) as replaced
from going_on`;

/** The statement of a sign-in that comes by a session at an identity provider, or by none. */
export const signInStatement = (ssoSessionId: string | null) =>
  ssoSessionId === null ? plainStatement : byProviderStatement;
const plainStatement = { name: 'sign_in_with_browser', text: signInText({ byProvider: false }) };
const byProviderStatement = { name: 'sign_in_with_browser_by_provider', text: signInText({ byProvider: true }) };
