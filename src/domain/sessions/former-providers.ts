/** The latest ones of each kind: a session that a new sign-in extends every day lasts for years. */
const maxProviders = 100;

/**
 * SQL: the new value of a column of `sessions` with former ones, when a sign-in replaces the present one by `next`.
 * What applications were given by a former one still belongs to the session, and ends with either
 * (docs/decisions/0046).
 */
export const withFormer = (former: string, present: string, next: string): string =>
  `case when ${present} is not null and ${present} is distinct from ${next}
      then (${present} || array_remove(${former}, ${present}))[:${maxProviders}] else ${former} end`;

/** SQL: the sessions at identity providers (`sso_sessions`) by which a row of `sessions` has begun or gone on. */
export const providerSessionsOf = (session: string): string =>
  `array_remove(${session}.sso_session_id || ${session}.former_sso_session_ids, null)`;
