/**
 * The mark that is spent once a provider has ended one of its sessions. The session's name is never used again (`sid`,
 * OpenID Connect Back-Channel Logout 1.0 §2.1), so a sign-in that was on its way, and cannot be found yet, begins
 * nothing either.
 */
export const endedAtProvider = (connectionId: string, indexHash: Buffer): string =>
  `sso-ended:${connectionId}:${indexHash.toString('hex')}`;

/** SQL: whether that mark was spent, for a connection and the hash of a session's name. */
export const isEndedAtProvider = (connectionId: string, indexHash: string): string => `exists (select from spent_tokens
  where token_hash = sha256(convert_to('sso-ended:' || ${connectionId} || ':' || encode(${indexHash}, 'hex'), 'UTF8')))`;

/**
 * SQL: the session at an identity provider (`sso_sessions`) of a sign-in, unless the provider has ended it or somebody
 * has disabled the connection. It is locked until the end of the transaction: a transaction that ends it waits for the
 * session here, and then ends that as well. The connection is locked before it, as by its deletion.
 */
export const openAtProvider = (id: string): string => `select at_provider.id, at_provider.not_on_or_after
from (select connection_id from sso_sessions where id = ${id}) asked
  cross join lateral (select id from sso_connections
    where id = asked.connection_id and status <> 'disabled' for key share) by
  cross join lateral (select id, not_on_or_after from sso_sessions
    where id = ${id} and connection_id = by.id and ended_at is null
      and not ${isEndedAtProvider('connection_id', 'index_hash')} for share) at_provider`;
