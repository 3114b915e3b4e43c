/** An administrator, and the session in which they change what is their own. */
export interface SignedInAdmin {
  userId: string;
  sessionId: string;
}
