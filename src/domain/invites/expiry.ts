import type { InviteStatus } from '../../../entities/administrator-invite.js';

/** An invite as its process sees it: the row's word on whether it waits, and until when. */
export interface InviteRow {
  status: InviteStatus;
  expiresAt: string;
  reminderAt: string | null;
}

/** What time and operators do to an invite. One for each kind of invite; repeating any of it is harmless. */
export interface InviteExpiry {
  read(id: string): Promise<InviteRow>;
  /** Sends the reminder, once for each link. */
  remind(id: string): Promise<InviteRow>;
  /** Ends it when its time is over. */
  expire(id: string): Promise<InviteRow>;
  /** Revokes it for an operator's reason. */
  cancel(id: string, reason: string): Promise<InviteRow>;
}
