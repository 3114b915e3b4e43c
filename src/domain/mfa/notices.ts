import type { EntityManager } from 'typeorm';
import type { EnvironmentScope } from '../../platform/scope.js';
import { defaultLocaleOf } from '../emails/locale.js';
import { queueEmail } from '../emails/queue.js';

/**
 * Notifies a person by mail, after the commit, what has happened to their second factors. The event determines the
 * text. It is in the Environment's language: the request may come from somebody else, who must not choose the language
 * of the warning.
 */
export async function noticeEmail(
  tx: EntityManager,
  { accountId, environmentId }: EnvironmentScope,
  eventId: string,
  now: Date,
): Promise<void> {
  const locale = await defaultLocaleOf(tx, { accountId, environmentId });
  const cause = `security-notice/${eventId}`;
  const mail = { template: 'security-notice', locale, subjectId: eventId, cause } as const;
  await queueEmail(tx, { ...mail, accountId, environmentId }, now);
}
