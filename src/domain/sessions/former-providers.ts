/** Of each kind, the latest: a session that goes on by a new sign-in every day lasts for years. */
const most = 100;

/**
 * SQL: what a column of `sessions` remembers of former ones when a sign-in puts `next` in the place of the present one. What
 * applications were given by that is still the session's, and so are its ends (docs/decisions/0046).
 */
export const withFormer = (former: string, present: string, next: string): string =>
  `case when ${present} is not null and ${present} is distinct from ${next}
      then (${present} || array_remove(${former}, ${present}))[:${most}] else ${former} end`;

/** SQL: the sessions at identity providers (`sso_sessions`) by which one here, a row of `sessions`, has begun or gone on. */
export const providerSessionsOf = (session: string): string =>
  `array_remove(${session}.sso_session_id || ${session}.former_sso_session_ids, null)`;
