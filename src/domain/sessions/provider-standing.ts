/**
 * SQL: the session at an identity provider (`sso_sessions`) by which a sign-in comes, as long as the provider has not said that
 * it is over, nor anybody has disabled the connection. It is held until the end of the transaction: whoever ends it waits for the
 * session here, and ends that as well.
 */
export const standingAtProvider = (id: string): string => `select at_provider.id
from sso_sessions at_provider join sso_connections by on by.id = at_provider.connection_id
where at_provider.id = ${id} and at_provider.ended_at is null and by.status <> 'disabled'
for share of at_provider for key share of by`;
