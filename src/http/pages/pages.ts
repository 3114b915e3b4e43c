import type { FactorKind } from '../../../entities/environment-settings.js';
import type { EnrollableKind } from '../../domain/mfa/gate.js';
import type { ScopeName } from '../../domain/oidc/scopes.js';
import type { TextKey } from '../../platform/mail/texts.js';
import type { AccountPages } from './account-pages.js';
import type { PageClient } from './page-client.js';
import type { SignUpPages } from './sign-up-pages.js';

/** The OAuth parameters of the authorization request, replayed as hidden inputs so that each form carries its context. */
type Params = Readonly<Record<string, string>>;

/** What the pages of each factor's enrollment have in common. */
interface EnrollmentPage {
  /** Where the choice of factors is. */
  otherAction: string;
  params: Params;
  token: string;
  client: PageClient;
}

/** The values of each page in `templates/pages`: the compiler checks each caller. */
export interface Pages extends AccountPages, SignUpPages {
  'sign-in': {
    action: string;
    params: Params;
    email: string;
    error: TextKey | null;
    /** Where the form goes instead to have a code mailed. */
    codeUrl: string | null;
    signUpUrl: string | null;
    forgotUrl: string | null;
    /** The widget's site key. */
    captcha: string | null;
    /** What lets the mail to confirm the address be sent again (`/oauth/verify-email/resend`). */
    resendTicket: string | null;
    /** Where the form goes instead to find the identity provider of the address. */
    ssoUrl: string | null;
    /** Whether a passkey will do instead; the page then needs the script `webauthn`. */
    passkey: boolean;
    /** The name of the one that the sign-in is for. */
    organization: string | null;
    client: PageClient;
  };
  /** Asks for the address alone: to mail a code to it, or to find its identity provider where nothing else is on but passkeys. */
  'sign-in-address': {
    way: 'code' | 'sso';
    action: string;
    params: Params;
    email: string;
    error: TextKey | null;
    passwordUrl: string | null;
    signUpUrl: string | null;
    /** Of somebody whose organization takes nothing but a provider. */
    recoveryUrl: string | null;
    ssoUrl: string | null;
    passkey: boolean;
    captcha: string | null;
    organization: string | null;
    client: PageClient;
  };
  'code-sent': {
    action: string;
    /** Where another code is asked for. */
    resendAction: string;
    /** Where to begin with another address. */
    otherUrl: string;
    params: Params;
    token: string;
    /** Empty where it is not known any more. */
    email: string;
    /** Whether a code was asked for that is not the first one. */
    isAgain: boolean;
    error: TextKey | null;
    captcha: string | null;
    client: PageClient;
  };
  /** Where nothing but passkeys is switched on, and no identity provider. */
  'sign-in-passkey': { params: Params; error: TextKey | null; organization: string | null; client: PageClient };
  consent: {
    action: string;
    params: Params;
    /** Who is signed in. */
    email: string;
    /** What the application would learn; each has a text. */
    scopes: readonly ScopeName[];
    /** The host that the browser goes on to, or an app's scheme. */
    destination: string;
    /** Whether the answer is not remembered: any program of the device could be the one that asks. */
    isAskedAlways: boolean;
    /** For how long the application keeps its access at most after a sign-in. */
    days: number;
    /** Where it is taken back. */
    accountUrl: string;
    /** Where somebody else signs in. */
    otherUrl: string;
    client: PageClient;
  };
  'select-account': { action: string; params: Params; identity: { email: string }; client: PageClient };
  'mfa-challenge': {
    params: Params;
    token: string;
    /** Whose sign-in it is, and where somebody else signs in. */
    email: string | null;
    otherUrl: string;
    /** The one that is asked for, and those that the person can choose in its place. */
    factor: FactorKind;
    others: readonly FactorKind[];
    /** Whether a code is on its way by mail. */
    isSent: boolean;
    /** Whether a code is on its way that is not the first one. */
    isAgain: boolean;
    /** For how long this device can be trusted; 0 where that is not offered. */
    rememberDays: number;
    isRemembered: boolean;
    error: TextKey | null;
    client: PageClient;
  };
  'mfa-enroll': {
    action: string;
    params: Params;
    token: string;
    factors: readonly EnrollableKind[];
    /** Until when it can be put off; null: it cannot. */
    until: Date | null;
    client: PageClient;
  };
  'mfa-enroll-totp': EnrollmentPage & {
    action: string;
    /** What comes back with the first code. */
    sealed: string;
    /** SVG markup. */
    qrSvg: string;
    /** `otpauth://` */
    uri: string;
    /** The secret, in groups. */
    key: string;
    error: TextKey | null;
  };
  'mfa-enroll-email': EnrollmentPage & {
    sendAction: string;
    verifyAction: string;
    email: string;
    isSent: boolean;
    /** Whether a code is on its way that is not the first one. */
    isAgain: boolean;
    error: TextKey | null;
  };
  'mfa-enroll-webauthn': EnrollmentPage;
  'recovery-codes': {
    action: string;
    params: Params;
    /** Null once the sign-in is over: then there is nothing to go on with. */
    token: string | null;
    /** The `codes_token`, by which its form is known to come from the browser that they are for. */
    codesToken: string;
    /** Null once they were shown. */
    codes: readonly string[] | null;
    /** On from a sign-in that is over, and where new codes are made then; null while it is not. */
    nextUrl: string | null;
    accountUrl: string | null;
    client: PageClient | null;
  };
  'mfa-expired': {
    /** Whether it is too late; or too often, since the sign-in has gone on already, or the code has let somebody in; or the wrong browser. */
    texts: 'mfa_expired' | 'sign_in_over' | 'code_used' | 'codes_elsewhere';
    againUrl: string | null;
  };
  'mfa-refused': { otherUrl: string };
  'method-refused': {
    title: TextKey;
    message: TextKey;
    /** Those that are left, and where each begins. */
    ways: readonly { text: TextKey; values: Record<string, string>; url: string }[];
    /** For who has a code of an organization whose identity provider is down. */
    recovery: { token: string; isWrong: boolean } | null;
    /** Where others prove who they are, to have one asked for. */
    recoveryUrl: string | null;
    /** Where somebody else signs in. */
    otherUrl: string | null;
    params: Params;
  };
  /** On to where a form may not lead by itself: an identity provider, to sign in or out there, a sign-in that may lead to one, or an application that begins one. */
  'sso-leave': { url: string; client: PageClient | null; to: 'provider' | 'sign_out' | 'sign_in' | 'application' };
  /** On to an application that wants its answer in a form (OAuth 2.0 Form Post Response Mode 1.0). */
  'form-post': { action: string; params: Params; hasButton: boolean };
  'sso-failed': {
    title: TextKey;
    message: TextKey;
    code: string;
    requestId: string;
    /** Once more by the same way, or by another account there. */
    againUrl: string | null;
    againText: 'sso_failed.again' | 'sso_failed.another';
    /** To the page that asks who it is. */
    otherUrl: string | null;
    /** The same, for who has a recovery code of an organization that requires its provider. */
    recoveryUrl: string | null;
  };
  /** Somebody else is signed in than who comes back from a provider, where nobody here has asked for that. */
  'sso-someone-else': {
    action: string;
    params: Params;
    /** Whose session it is; null: an administrator's. */
    other: string | null;
    email: string;
    stayUrl: string | null;
    client: PageClient | null;
  };
  /** The link of a test sign-in: only its button uses it. */
  'sso-test': { action: string; token: string; connection: string };
  /** A link that was used, has expired, or is none. */
  'sso-test-void': { code: string };
  /** What came of one, for whoever went the way. */
  'sso-test-done': {
    connection: string;
    title: TextKey;
    message: TextKey;
    code: string | null;
    /** Why a person whom the provider vouches for would not get in. */
    reason: TextKey | null;
    /** For whoever looks after the connection, in English; partly of the provider. */
    detail: string | null;
  };
  /** `email`: who is signed in, where it is known whose page it is. */
  logout: { action: string; params: Params; email: string | null; client: { name: string } | null };
  /** `isUnconfirmed`: here; the identity provider has not said that it is so there. `isOver`: nothing is known of it any more, or was never. */
  'signed-out': { clientUrl: string | null; isUnconfirmed: boolean; isOver: boolean };
  /** Whoever would rather not sign out, and came from nowhere that is known. */
  'still-signed-in': Record<string, never>;
  /** Of an administrator who has come by an identity provider. */
  'admin-signed-in': { accountName: string };
  /** Of one whose second factor would be asked for by an application that this service was not told of. */
  'admin-mfa-elsewhere': Record<string, never>;
  'choose-application': {
    action: string;
    token: string;
    applications: readonly { id: string; name: string; accountName: string }[];
  };
  error: {
    title: TextKey;
    message: TextKey;
    /** A technical detail in English that is safe to show, such as `redirect_uri is not registered for this client`. */
    detail: string | null;
    code: string;
    requestId: string;
    retryAfterSeconds?: number;
    signInUrl?: string | null;
    forgotUrl?: string | null;
    accountUrl?: string | null;
  };
  'verify-email': {
    action: string;
    /** Where the form of somebody who has not registered goes; null where it is confirmed, and only the answer was lost. */
    declineAction: string | null;
    token: string;
    accountName: string;
    email: string;
    /** Whether it takes the password of the registration: in every browser but the one that registered. */
    asksPassword: boolean;
    /** What was wrong with the password that was sent. */
    error: TextKey | null;
  };
  'registration-declined': Record<string, never>;
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
  'invite-accepted': { accountName: string; nextUrl: string | null };
  /** `client`: of an end user's invite that there was. */
  'invite-invalid': { nextUrl: string | null; isAccepted: boolean; client: PageClient | null };
  'link-invalid': { nextUrl: string | null; isOfPassword: boolean };
}
