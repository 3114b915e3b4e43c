import type { EntityManager } from 'typeorm';
import { EnvironmentMembership } from '../../../../entities/environment-membership.js';
import { Event } from '../../../../entities/event.js';
import { Identity } from '../../../../entities/identity.js';
import { RoleAssignment } from '../../../../entities/role-assignment.js';
import { RoleAssignmentWindow } from '../../../../entities/role-assignment-window.js';
import type { Clock } from '../../../platform/clock.js';
import type { EmailTemplates } from '../../../platform/mail/templates.js';
import { type Locale, text } from '../../../platform/mail/texts.js';
import { applicationNameOf } from '../../emails/brand.js';
import { formatDateTime } from '../../emails/format-date-time.js';
import { greetingOf } from '../../emails/greeting.js';
import { defaultLocaleOf } from '../../emails/locale.js';
import { queueEmail } from '../../emails/queue.js';
import type { EmailSubjects } from '../../emails/subjects.js';
import type { WindowMoment } from './moments.js';

type WindowMail = Extract<keyof EmailTemplates, `role-${'activated' | 'expiring' | 'expired'}`>;
interface Content {
  to: string;
  values: EmailTemplates[WindowMail];
}

const templates = {
  'role_assignment.activated': 'role-activated',
  'role_assignment.expiring': 'role-expiring',
  'role_assignment.expired': 'role-expired',
} as const satisfies Record<WindowMoment['action'], WindowMail>;

/**
 * Tells the holder by mail what has happened, after the commit; once, however often it is called. The words of the mail
 * come from its event.
 */
export async function windowEmail(
  tx: EntityManager,
  { id, accountId, environmentId }: RoleAssignment,
  { action, at }: WindowMoment,
  { eventId, now }: { eventId: string; now: Date },
): Promise<void> {
  const locale = await defaultLocaleOf(tx, { accountId, environmentId });
  const cause = `role-assignment/${id}/${action}/${at.getTime()}`;
  const mail = { template: templates[action], locale, subjectId: eventId, cause } as const;
  await queueEmail(tx, { ...mail, accountId, environmentId }, now);
}

/**
 * The contents of the mails about a role's window. Null once they are not true any more: the role was removed, an
 * operator stopped the window's events, it ended before a mail that announces the end, or the holder cannot sign in.
 */
export const roleWindowMails = ({ now }: { now: Clock }) => {
  const mail =
    (isStillSo: (assignment: RoleAssignment) => boolean) =>
    async (tx: EntityManager, eventId: string, locale: Locale): Promise<Content | null> => {
      const event = await tx.findOneBy(Event, { id: eventId });
      const id = event?.resourceId;
      const assignment = id ? await tx.findOneBy(RoleAssignment, { id }) : null;
      if (!assignment || assignment.removedAt !== null || !isStillSo(assignment)) return null;
      if (await tx.existsBy(RoleAssignmentWindow, { id: assignment.id, status: 'cancelled' })) return null;
      return contentOf(tx, assignment, locale);
    };
  const isNotOver = ({ effectiveTo }: RoleAssignment) => effectiveTo === null || now() < effectiveTo;
  return {
    'role-activated': mail(isNotOver),
    'role-expiring': mail(isNotOver),
    'role-expired': mail(() => true),
  } satisfies Pick<EmailSubjects, WindowMail>;
};

async function contentOf(
  tx: EntityManager,
  { identityId, environmentId, roleId, nodeId, effectiveTo }: RoleAssignment,
  locale: Locale,
): Promise<Content | null> {
  const identity = await tx.findOneBy(Identity, { id: identityId });
  const membership = await tx.findOneBy(EnvironmentMembership, { environmentId, identityId, isActive: true });
  if (!identity || !membership) return null;
  const [names] = await tx.query<{ role: string; node: string }[]>(
    `select (select name::text from roles where environment_id = $1 and id = $2) as role,
       (select name from nodes where environment_id = $1 and id = $3) as node`,
    [environmentId, roleId, nodeId],
  );
  if (!names) return null;
  return {
    to: identity.email,
    values: {
      first_name: greetingOf(identity),
      application_name: await applicationNameOf(tx, environmentId),
      role_name: names.role,
      node_name: names.node,
      ends_at_text: effectiveTo ? formatDateTime(effectiveTo, locale) : text(locale, 'email.role_activated.no_end'),
    },
  };
}
