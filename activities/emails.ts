import type { Emails } from '../src/domain/emails/emails.js';
import { settled } from './settled.js';

export type EmailActivities = ReturnType<typeof createEmailActivities>;

export const createEmailActivities = ({ emails }: { emails: Emails }) => ({
  sendEmail: (id: string) => settled(() => emails.send(id)),
  giveUpEmail: (id: string, outage: string | null = null) => settled(() => emails.giveUp(id, outage)),
  cancelEmail: (id: string) => settled(() => emails.cancel(id)),
});
