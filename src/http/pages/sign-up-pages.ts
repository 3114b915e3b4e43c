import type { TextKey } from '../../platform/mail/texts.js';
import type { PageClient } from './page-client.js';

type Params = Readonly<Record<string, string>>;

/** The pages for people who sign up, or have forgotten their password. */
export interface SignUpPages {
  'sign-up': {
    action: string;
    params: Params;
    email: string;
    firstName: string;
    lastName: string;
    /** The minimum length of a password in the Environment. */
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
    /** What it requires: a click; the sign-up's password; or a click by somebody with an account, who joins with it. */
    asks: 'click' | 'password' | 'join';
    error: TextKey | null;
    client: PageClient;
  };
  /** `other`: somebody else who is signed in in this browser. */
  'sign-up-confirmed': { email: string; other: string | null; nextUrl: string | null; client: PageClient };
  'link-void': {
    /** The link's own token, if another link can be sent for it (`/oauth/verify-email/resend`). */
    resendToken: string | null;
    /** Where another link is requested. */
    forgotUrl: string | null;
    nextUrl: string | null;
    client: PageClient | null;
  };
  'identity-invite': {
    action: string;
    token: string;
    /** The place to which it leads. */
    placeName: string;
    inviter: string;
    email: string;
    firstName: string;
    lastName: string;
    /** False for a person who has a sign-in already, which stays as it is. */
    asksNames: boolean;
    asksPassword: boolean;
    /** The minimum length of a password in the Environment. */
    minLength: number;
    error: TextKey | null;
    client: PageClient;
  };
  'identity-invite-accepted': {
    placeName: string;
    email: string;
    /** Whether they can sign in there now; not if they are only in the directory. */
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
