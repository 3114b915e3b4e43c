/**
 * SQL: whether somebody who has proved a password `here` may go on `there` with it. Of the other place's type alone, and never around
 * a captcha. What is offered and whether there is anything to offer ask the same, over the rows `here` and `there` of environments,
 * `here_settings` and `there_settings` of theirs, and `membership` of somebody `there`.
 */
export const entersWithPassword = `there.account_id = here.account_id and there.type = here.type
  and membership.is_active and there_settings.password_login_enabled
  and there_settings.login_require_captcha <= here_settings.login_require_captcha`;
