import type { EmailChangeExpiry } from '../src/domain/email-changes/expiry.js';
import { settled } from './settled.js';

export type EmailChangeActivities = ReturnType<typeof createEmailChangeActivities>;

export const createEmailChangeActivities = ({ emailChanges }: { emailChanges: EmailChangeExpiry }) => ({
  expireEmailChange: (id: string) => settled(() => emailChanges.expire(id)),
  cancelEmailChange: (id: string) => settled(() => emailChanges.cancel(id)),
});
