import type { Statement } from '../../platform/database/db.js';
import { eventInsert } from '../events/record.js';
import { endedByPolicy } from '../organizations/belonging.js';
import { asProved } from './as-proved.js';
import { codeInsert } from './code-insert.js';
import { withFormer } from './former-providers.js';
import { openAtProvider } from './provider-session-end.js';

/** The result of a sign-in; no row if no session begins. */
export interface SignInRow {
  id: string;
  expiresAt: Date;
  /** Sessions of other people that ended by it. */
  replaced: number;
}

/**
 * What a sign-in comes with. PostgreSQL prepares every part of a statement, even one that then has nothing to do, so
 * parts that do not apply are left out (docs/decisions/0059).
 */
export interface ComesWith {
  /** A session at an identity provider: $18. */
  provider: boolean;
  /** An earlier cookie: $24 is its hash, $25 and $26 the rows of the events for another person's session that ended. */
  cookie: boolean;
}

/** Whether the browser has a session of this person in this Environment. */
const ownSession = (
  further: string,
) => `exists (select from sessions own where own.browser_hash = $24 and own.environment_id = $4
  and own.identity_id = $5 and own.revoked_at is null and ${further})`;

/** SQL: whether the session at the identity provider still exists, or a session here that began by it. */
const providerLook = ({ cookie }: ComesWith) => `provider as materialized (
  ${openAtProvider('$18::uuid and exists (select from person)')}
),
trusted as materialized (
  select from person where exists (select from provider)${cookie ? ` or ${ownSession('own.sso_session_id = $18')}` : ''}
),
`;

/** When it ends at the provider, if it says so. */
const endOfProvider = '(select not_on_or_after from provider)';

/**
 * Whether what begins now would not be over already: the provider, or an organization of the person, may allow less time
 * than the person has taken for the second factor. Applications would get tokens that never work.
 */
const hasTimeLeft = '(select expires_at from life) > $2::timestamptz';

const ifOwn = (column: string, value: string) =>
  `${column} = case when environment_id = $4 and identity_id = $5 then ${value} else ${column} end`;

/**
 * All sessions of a browser move to its new cookie, so that a value from before the sign-in is worthless. In this
 * Environment the same Identity continues in its session, which remembers the provider by which it came until now;
 * another Identity's ends. Expired sessions keep the old value: their refresh tokens are valid until they are revoked.
 */
const move = ({ provider }: ComesWith) => `moved as (
  update sessions set browser_hash = $1,
    ${ifOwn('authenticated_at', '$13')},
    ${ifOwn('auth_time', '$21::timestamptz')},
    ${ifOwn('second_factor_at', '$14')},
    ${ifOwn('own_factor_at', '$22::timestamptz')},
    ${ifOwn('amr', '$6')},
    ${ifOwn('acr', '$7')},
    ${ifOwn('former_sso_connection_ids', withFormer('former_sso_connection_ids', 'sso_connection_id', '$17::uuid'))},
    ${ifOwn('former_sso_session_ids', withFormer('former_sso_session_ids', 'sso_session_id', '$18::uuid'))},
    ${ifOwn('sso_connection_id', '$17::uuid')},
    ${ifOwn('sso_session_id', '$18::uuid')},
    ${ifOwn('expires_at', 'case when $20 then least(expires_at, (select expires_at from life)) else (select expires_at from life) end')},
    ${ifOwn('not_on_or_after', `case when $20 then not_on_or_after else ${provider ? endOfProvider : 'null'} end`)},
    ${ifOwn('used_at', '$2')},
    ${ifOwn('ip_address', '$9')},
    ${ifOwn('user_agent', '$10')},
    revoked_at = case when environment_id = $4 and identity_id <> $5 then $2 end
  where browser_hash = $24 and expires_at > $2::timestamptz and revoked_at is null
    and (not $20::boolean and (select unchanged from person) or ${ownSession('own.expires_at > $2::timestamptz')})
    and exists (select from ${provider ? 'trusted' : 'person'}) -- locked before the sessions, as by whoever changes the password, or ends them
    and ${hasTimeLeft}
  returning id, environment_id, identity_id, expires_at, revoked_at
),
kept as (
  select id from moved where environment_id = $4 and revoked_at is null
),
signed_out as (${eventInsert('$25', {
  resourceId: 'moved.id::text',
  actorId: 'moved.identity_id::text',
  from: ' join moved on moved.revoked_at is not null',
})}),
told_of as (${eventInsert('$26', {
  resourceId: 'moved.identity_id::text',
  actorId: 'moved.identity_id::text',
  metadata: `e.metadata || jsonb_build_object('session_id', moved.id)`,
  from: ' join moved on moved.revoked_at is not null',
})}),
`;

/**
 * A session that becomes stronger keeps its own end, also for the cookie: a second factor is no new sign-in, and
 * extends nothing.
 */
const ofMoved = `greatest(case when not $20 then expires_at end, (select max(expires_at) from moved where revoked_at is null)) as "expiresAt",
  (select count(*)::int from moved where revoked_at is not null) as replaced`;

/**
 * A new password, or another address, locks the Identity and ends the sessions of the old one: either it finds this
 * session, or it is found here and no session begins. A session that continues needs no such check: had it ended, it
 * would not be found. The same holds for the session at an identity provider by which a person comes. If an earlier
 * session is to become stronger ($20), none begins in its place: it may have been ended while its person looked for
 * their phone. If no session begins or continues, nothing of the browser is changed.
 */
const signInText = (comesWith: ComesWith) => {
  const ifProvider = (sql: string) => (comesWith.provider ? sql : '');
  const ifCookie = (sql: string) => (comesWith.cookie ? sql : '');
  return `
with person as materialized (
  select ${asProved({ isTimeKnown: '$15', passwordChangedAt: '$16', provedAt: '$13', amr: '$6', email: '$23' })} as unchanged
  from identities where id = $5 and (account_id = $3) is true for share
),
${ifProvider(providerLook(comesWith))}life as materialized (
  select least(${endedByPolicy('$8::timestamptz', '$13::timestamptz', '$4::uuid', '$5::uuid')}
    ${ifProvider(`, ${endOfProvider}`)}) as expires_at
),
${ifCookie(move(comesWith))}created as (
  insert into sessions (id, account_id, environment_id, identity_id, browser_hash, authenticated_at, second_factor_at, amr, acr,
    ip_address, user_agent, created_at, used_at, expires_at, sso_connection_id, sso_session_id, auth_time, own_factor_at,
    not_on_or_after)
  select $11::uuid, $3::uuid, $4::uuid, $5::uuid, $1::bytea, $13::timestamptz, $14::timestamptz, $6::text[], $7::text,
    $9::text, $10::text, $2::timestamptz, $2, (select expires_at from life), $17::uuid, $18::uuid, $21::timestamptz, $22::timestamptz,
    ${comesWith.provider ? endOfProvider : 'null'}
  where not $20::boolean and (select unchanged from person) and ${hasTimeLeft}
    ${ifCookie('and not exists (select from kept)')}
    ${ifProvider('and exists (select from trusted)')}
  returning id
),
going_on as (
  ${ifCookie('select id from kept union all')} select id from created
),
issued as (${codeInsert('$19', { sessionId: 'going_on.id', from: ' cross join going_on' })}),
signed_in as (${eventInsert('$12', {
    metadata: `e.metadata || jsonb_build_object('session_id', going_on.id)`,
    from: ' cross join going_on',
  })})
select id, ${comesWith.cookie ? ofMoved : 'expires_at as "expiresAt", 0 as replaced'}
from going_on cross join life`;
};

const statements = [
  { provider: false, cookie: false, name: 'sign_in' },
  { provider: false, cookie: true, name: 'sign_in_with_cookie' },
  { provider: true, cookie: false, name: 'sign_in_by_provider' },
  { provider: true, cookie: true, name: 'sign_in_by_provider_with_cookie' },
].map(({ name, ...comesWith }) => ({ ...comesWith, statement: { name, text: signInText(comesWith) } }));

/** The statement for a sign-in, by what it comes with. */
export const signInStatement = ({ provider, cookie }: ComesWith): Statement =>
  statements.find((one) => one.provider === provider && one.cookie === cookie)?.statement as Statement;
