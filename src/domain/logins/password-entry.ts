/**
 * SQL: whether a person who has proved their password `here` may continue `there`: only in an Environment of the same
 * type, and never to get around a captcha. Used to list what can be chosen and to decide whether there is a choice.
 * Expects rows `here` and `there` of environments, their settings `here_settings` and `there_settings`, and the
 * person's `membership` in `there`.
 */
export const entersWithPassword = `there.account_id = here.account_id and there.type = here.type
  and membership.is_active and there_settings.password_login_enabled
  and there_settings.login_require_captcha <= here_settings.login_require_captcha`;
