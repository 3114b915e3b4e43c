import type { InviteStatus } from '../../../entities/administrator-invite.js';

/** An invite as its process sees it: whether the row is pending, and until when. */
export interface InviteRow {
  status: InviteStatus;
  expiresAt: string;
  reminderAt: string | null;
}

/** What a process and operators do with an invite, for one kind of invite. Every operation is safe to repeat. */
export interface InviteExpiry {
  read(id: string): Promise<InviteRow>;
  /** Sends the reminder, once for each link. */
  remind(id: string): Promise<InviteRow>;
  /** Ends it if its time is over. */
  expire(id: string): Promise<InviteRow>;
  /** Revokes it for an operator's reason. */
  cancel(id: string, reason: string): Promise<InviteRow>;
}
