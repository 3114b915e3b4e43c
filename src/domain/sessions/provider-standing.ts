/**
 * SQL: the session at an identity provider (`sso_sessions`) by which a sign-in comes, as long as the provider has not said that
 * it is over, nor anybody has disabled the connection. It is held until the end of the transaction: whoever ends it waits for the
 * session here, and ends that as well. The connection is held before it, as by whoever deletes that.
 */
export const standingAtProvider = (id: string): string => `select at_provider.id
from (select connection_id from sso_sessions where id = ${id}) asked
  cross join lateral (select id from sso_connections
    where id = asked.connection_id and status <> 'disabled' for key share) by
  cross join lateral (select id from sso_sessions
    where id = ${id} and connection_id = by.id and ended_at is null for share) at_provider`;
