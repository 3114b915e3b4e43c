import type { EmailChange } from '../../../entities/email-change.js';
import type { ProcessInput } from '../../platform/process-kinds.js';
import type { QueuedEmail } from '../emails/queue.js';

/** Returns the input of a change's process. */
export const emailChangeInput = ({
  id,
  expiresAt,
}: Pick<EmailChange, 'id' | 'expiresAt'>): ProcessInput<'emailChange'> => ({
  changeId: id,
  expiresAt: expiresAt.toISOString(),
});

type Addressed = Pick<EmailChange, 'id' | 'locale'>;

/** The mail to the new address: its link or, if somebody signs in with the address already, that it stays theirs. */
export const emailChangeMail = ({ id, locale }: Addressed, isTaken: boolean): QueuedEmail => ({
  template: isTaken ? 'email-change-taken' : 'email-change',
  locale,
  subjectId: id,
  cause: `email-change/${id}/link`,
});

export const emailChangedMail = ({ id, locale }: Addressed): QueuedEmail => ({
  template: 'email-changed',
  locale,
  subjectId: id,
  cause: `email-change/${id}/changed`,
});
