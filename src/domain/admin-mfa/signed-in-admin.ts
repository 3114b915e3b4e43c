/** An administrator, and the session in which they change their own data. */
export interface SignedInAdmin {
  userId: string;
  sessionId: string;
}
