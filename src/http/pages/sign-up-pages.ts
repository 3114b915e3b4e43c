import type { TextKey } from '../../platform/mail/texts.js';
import type { PageClient } from './page-client.js';

type Params = Readonly<Record<string, string>>;

/** The pages of people who make their own sign-in, or have forgotten its password. */
export interface SignUpPages {
  'sign-up': {
    action: string;
    params: Params;
    email: string;
    firstName: string;
    lastName: string;
    /** Of the password, in the Environment. */
    minLength: number;
    error: TextKey | null;
    /** The widget's site key. */
    captcha: string | null;
    signInUrl: string;
    client: PageClient;
  };
  'confirm-sign-up': {
    action: string;
    token: string;
    email: string;
    /** What it takes: a click; the password of the sign-up; a click of somebody who has an account and joins with it. */
    asks: 'click' | 'password' | 'join';
    error: TextKey | null;
    client: PageClient;
  };
  /** `other`: whoever else is signed in in this browser. */
  'sign-up-confirmed': { email: string; other: string | null; nextUrl: string | null; client: PageClient };
  'link-void': {
    /** The link's own token, where another one can be sent for it (`/oauth/verify-email/resend`). */
    resendToken: string | null;
    /** Where another one is asked for. */
    forgotUrl: string | null;
    nextUrl: string | null;
    client: PageClient | null;
  };
  'identity-invite': {
    action: string;
    token: string;
    /** Where it leads. */
    placeName: string;
    inviter: string;
    email: string;
    firstName: string;
    lastName: string;
    /** False for a person who has a sign-in: what is theirs stays as it is. */
    asksNames: boolean;
    asksPassword: boolean;
    /** Of the password, in the Environment. */
    minLength: number;
    error: TextKey | null;
    client: PageClient;
  };
  'identity-invite-accepted': {
    placeName: string;
    email: string;
    /** Whether they can sign in there now: who is in the directory alone cannot yet. */
    opensClient: boolean;
    other: string | null;
    nextUrl: string | null;
    client: PageClient;
  };
  'mail-sent': { nextUrl: string | null; client: PageClient | null };
  'forgot-password': {
    action: string;
    params: Params;
    email: string;
    error: TextKey | null;
    signInUrl: string;
    client: PageClient;
  };
  'reset-password': {
    action: string;
    token: string;
    email: string;
    minLength: number;
    error: TextKey | null;
    client: PageClient;
  };
  'password-reset-done': { email: string; other: string | null; nextUrl: string | null; client: PageClient };
}
