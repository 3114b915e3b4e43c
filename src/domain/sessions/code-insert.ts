/**
 * SQL that inserts an authorization code: used in the statement that creates its session, and in one of its own.
 * @param row the parameter with the code's row as JSON; null where no code is issued
 * @param sessionId SQL for the code's session
 * @param from SQL that joins what `sessionId` names
 */
export const codeInsert = (row: string, { sessionId = 'c.session_id', from = '' } = {}): string => `
insert into authorization_codes (code_hash, account_id, environment_id, oauth_client_id, session_id, redirect_uri, scope, nonce,
  code_challenge, authenticated_at, auth_time, amr, acr, created_at, expires_at, organization_id)
select c.code_hash, c.account_id, c.environment_id, c.oauth_client_id, ${sessionId}, c.redirect_uri, c.scope, c.nonce,
  c.code_challenge, c.authenticated_at, c.auth_time, c.amr, c.acr, c.created_at, c.expires_at, c.organization_id
from jsonb_populate_record(null::authorization_codes, ${row}::jsonb) c${from}
where ${row} is not null`;
