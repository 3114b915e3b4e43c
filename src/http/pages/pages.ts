import type { TextKey } from '../../platform/mail/texts.js';

/** The OAuth parameters of the authorization request, replayed as hidden inputs so that each form carries its context. */
type Params = Readonly<Record<string, string>>;

/** The application that a person signs in to. */
export interface PageClient {
  name: string;
  logoUrl: string | null;
}

/** The values of each page in `templates/pages`: the compiler checks each caller. */
export interface Pages {
  'sign-in': {
    action: string;
    params: Params;
    email: string;
    error: TextKey | null;
    signUpUrl: string | null;
    forgotUrl: string | null;
    client: PageClient;
  };
  'select-account': { action: string; params: Params; identity: { email: string }; client: PageClient };
  logout: { action: string; params: Params; client: { name: string } | null };
  'signed-out': { clientUrl: string | null };
  error: {
    title: TextKey;
    message: TextKey;
    /** A technical detail in English that is safe to show, such as `redirect_uri is not registered for this client`. */
    detail: string | null;
    code: string;
    requestId: string;
    retryAfterSeconds?: number;
  };
  'verify-email': { action: string; token: string; accountName: string; email: string };
  'email-verified': { accountName: string; accountSlug: string; nextUrl: string | null };
  'choose-password': {
    action: string;
    token: string;
    purpose: 'reset' | 'set';
    email: string;
    /** What was wrong with the password that was sent. */
    error: TextKey | null;
  };
  'password-saved': { nextUrl: string | null };
  'accept-invite': {
    action: string;
    token: string;
    accountName: string;
    email: string;
    firstName: string;
    lastName: string;
    /** False for a person who has a sign-in: what is theirs stays as it is. */
    asksNames: boolean;
    asksPassword: boolean;
    /** The account's identity provider can take its place. */
    passwordOptional: boolean;
    error: TextKey | null;
  };
  'invite-accepted': { accountName: string };
  'invite-invalid': Record<never, never>;
  'link-invalid': { nextUrl: string | null };
}
