import type { Authenticator } from '../authenticator.js';
import type { Grace } from '../graces-model.js';
import type { Browser } from '../oauth/browser.js';

export type Kind = 'totp' | 'webauthn' | 'email_otp';
export type Answer = Kind | 'recovery_code';

export interface Factor {
  id: string;
  kind: Kind;
  /** The secret of an authenticator app, and the last time step that was used. */
  app: { secret: string; lastStep: number } | null;
  key: Key | null;
  /** Whether the key signs in by itself. */
  signsIn: boolean;
  label: string | null;
}

export interface Key {
  authenticator: Authenticator;
  isSynced: boolean;
}

export interface Person {
  id: string;
  email: string;
  isVerified: boolean;
  password: string | null;
  /** The password of the latest sign-up, until the address is confirmed. */
  parked: string | null;
  /** When the password was set. */
  setAt: number;
  isActive: boolean;
  isMember: boolean;
  /** Whether the person is deleted. */
  isGone: boolean;
  factors: Factor[];
  recoveryCodes: string[];
  grace: Grace | null;
  /** All keys that were ever enrolled, also those that were removed. */
  keys: Key[];
}

/** What somebody has proved. */
export interface Proof {
  person: Person;
  /** What the sign-in began with. */
  began: 'password' | 'email_otp' | 'passkey';
  /** Whether it is an existing session that continues. */
  isSession: boolean;
  amr: string[];
  isStrong: boolean;
  /** When the first factor was shown. */
  at: number;
  /** Whether a second factor was shown, or a trusted browser stood in for one. */
  hasSecond: boolean;
  /** Whether a factor of the person's own was shown. */
  hasOwn: boolean;
}

export interface Session extends Omit<Proof, 'isSession'> {
  id: string;
  /** Codes that were mailed in it to enroll the mailbox, and to change the address. */
  factorCodes: MailedCode[];
  addressCodes: MailedCode[];
  endsAt: number;
  isAlive: boolean;
}

/** A browser with its cookies, the session that it has in the Environment, and who trusts it until when. */
export interface Visitor {
  name: number;
  browser: Browser;
  session: Session | null;
  trusts: Map<Person, number>;
}

/** An authorization request: where it leads and what it asks for. */
export interface Request {
  /** As they are sent. */
  params: Record<string, string>;
  /** The page of the account to which it leads; null: to the client. */
  destination: string | null;
  prompt: 'login' | null;
  maxAge: number | null;
  isStrong: boolean;
}

/** A code that was mailed, or would have been to an address that nobody has. */
export interface MailedCode {
  digits: string | null;
  person: Person | null;
  email: string;
  madeAt: number;
  tries: number;
  usedAt: number | null;
  isVoid: boolean;
  /** Whether it has changed the address. */
  isDone?: boolean;
}

/** A sign-in that waits for its second factor, or for an enrollment. */
export interface Pending {
  purpose: 'challenge' | 'enrollment';
  proof: Proof;
  request: Request;
  token: string;
  requiresStrong: boolean;
  hasProved: boolean;
  begunAt: number;
  endsAt: number;
  completedAt: number | null;
  codes: MailedCode[];
}

export type Of<Is extends Page['is']> = Extract<Page, { is: Is }>;

/** A page that a browser has shown; its form can be sent at any later time. */
export type Page =
  | { is: 'sign-in'; of: Visitor; request: Request }
  | { is: 'code-sent'; of: Visitor; request: Request; token: string; email: string; codes: MailedCode[] }
  | { is: 'challenge'; of: Visitor; pending: Pending }
  | { is: 'enroll'; of: Visitor; pending: Pending }
  | { is: 'enroll-app'; of: Visitor; pending: Pending; secret: string; sealed: string; factor: Factor | null }
  | { is: 'codes'; of: Visitor; pending: Pending; sealed: string };

/** A mailed link: to another password, or one that confirms a sign-up. */
export interface Link {
  token: string;
  to: 'reset' | 'confirm';
  person: Person;
  madeAt: number;
  usedAt: number | null;
  isVoid: boolean;
  tries: number;
  /** The password of the sign-up, and the cookie of its browser; or the password that was set. */
  password: string | null;
  cookie: string | null;
}

/** What was counted against somebody: in a quarter of an hour, and in a day. */
export interface Tries {
  burst: number;
  day: number;
}
