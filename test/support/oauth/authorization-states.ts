import type { Asked } from './authorization-requests.js';

/** What the model of the authorization endpoint (`authorization-model.ts`) knows of people, sessions and codes. */

export interface Person {
  id: string;
  email: string;
  /** Whether they have an authenticator app. */
  hasApp: boolean;
  isActive: boolean;
  isMember: boolean;
}
export const [aal1, aal2] = ['urn:gatehouse:aal1', 'urn:gatehouse:aal2'] as const;
/** What somebody has proved: when by the first factor, and by the second. */
export interface Proved {
  person: Person;
  amr: string[];
  acr: string;
  at: number;
  second: number | null;
}
export interface Session extends Proved {
  endsAt: number;
  usedAt: number;
  isRevoked: boolean;
  /** Its name in tokens, once one was issued. */
  sid: string | null;
}
/** A sign-in that needs more, of a session or of somebody who has typed the password. */
export type Proof = Proved & { session: Session | null };
export interface ModelBrowser {
  session: Session | null;
  /** Who need not show their app here. */
  trusts: Set<Person>;
}
export interface ModelCode {
  asked: Asked;
  session: Session;
  person: Person;
  amr: string[];
  acr: string;
  at: number;
  madeAt: number;
  grant: ModelGrant | null;
}
export interface ModelGrant extends Omit<ModelCode, 'grant' | 'madeAt'> {
  endsAt: number;
  isRevoked: boolean;
}
/** What the browser is shown, or what the client gets. */
export type Outcome =
  | { is: 'error page' }
  | { is: 'error'; asked: Asked; error: string }
  | { is: 'code'; asked: Asked; code: ModelCode }
  | { is: 'sign-in' | 'passkey'; asked: Asked }
  | { is: 'select-account' | 'consent'; asked: Asked; session: Session }
  | { is: 'barred'; asked: Asked }
  | Waiting;
/** A sign-in that needs more than was proved. */
export interface Waiting {
  is: 'challenge' | 'enroll' | 'enroll or later';
  asked: Asked;
  proof: Proof;
  until: number;
}
