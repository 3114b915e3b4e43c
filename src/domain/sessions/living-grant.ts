/**
 * SQL: a grant that is alive: its client exists, and one of its tokens is still valid. Refresh tokens expire before
 * their grant if nobody uses them. The statement itself checks whether its session was revoked, since the sign-in of
 * another person revokes a session and leaves its grants as they are. Only for the `system` scope: no tenant's
 * transaction sees refresh tokens.
 */
export const livingGrant = (now: string) => `g.revoked_at is null and g.expires_at > ${now}
    and exists (select from oauth_clients where id = g.oauth_client_id) and exists (
    select from refresh_tokens t
    where t.family_id = g.id and t.kind = 'grant' and t.spent_at is null and t.expires_at > ${now})`;
