import type { FactorKind } from '../../../entities/environment-settings.js';
import type { EnrollableKind } from '../../domain/mfa/gate.js';
import type { ScopeName } from '../../domain/oidc/scopes.js';
import type { TextKey } from '../../platform/mail/texts.js';
import type { AccountPages } from './account-pages.js';
import type { AdministratorPages } from './administrator-pages.js';
import type { PageClient } from './page-client.js';
import type { SignUpPages } from './sign-up-pages.js';

/** The OAuth parameters of the authorization request, repeated as hidden inputs so that each form has its context. */
type Params = Readonly<Record<string, string>>;

/** The values that the pages of every factor's enrollment share. */
interface EnrollmentPage {
  /** Where the person chooses between factors. */
  otherAction: string;
  params: Params;
  token: string;
  client: PageClient;
}

/** The values of each page in `templates/pages`: the compiler checks each caller. */
export interface Pages extends AccountPages, AdministratorPages, SignUpPages {
  'sign-in': {
    action: string;
    params: Params;
    email: string;
    error: TextKey | null;
    /** Where the form is sent instead to have a code mailed. */
    codeUrl: string | null;
    signUpUrl: string | null;
    forgotUrl: string | null;
    /** The widget's site key. */
    captcha: string | null;
    /** The ticket for having the mail to confirm the address sent again (`/oauth/verify-email/resend`). */
    resendTicket: string | null;
    /** Where the form is sent instead to find the identity provider of the address. */
    ssoUrl: string | null;
    /** Whether a passkey suffices instead; the page then needs the script `webauthn`. */
    passkey: boolean;
    /** The name of the organization of the sign-in. */
    organization: string | null;
    client: PageClient;
  };
  /** Asks only for the address: to mail a code to it, or to find its provider if only passkeys are on besides. */
  'sign-in-address': {
    way: 'code' | 'sso';
    action: string;
    params: Params;
    email: string;
    error: TextKey | null;
    passwordUrl: string | null;
    signUpUrl: string | null;
    /** For somebody whose organization only accepts an identity provider. */
    recoveryUrl: string | null;
    ssoUrl: string | null;
    passkey: boolean;
    captcha: string | null;
    organization: string | null;
    client: PageClient;
  };
  'code-sent': {
    action: string;
    /** Where another code is requested. */
    resendAction: string;
    /** Where to begin with another address. */
    otherUrl: string;
    params: Params;
    token: string;
    /** Empty if it is no longer known. */
    email: string;
    /** Whether the requested code is not the first one. */
    isAgain: boolean;
    error: TextKey | null;
    captcha: string | null;
    client: PageClient;
  };
  /** If only passkeys are switched on, and no identity provider. */
  'sign-in-passkey': { params: Params; error: TextKey | null; organization: string | null; client: PageClient };
  consent: {
    action: string;
    params: Params;
    /** The address of the signed-in person. */
    email: string;
    /** What the application would learn; each scope has a text. */
    scopes: readonly ScopeName[];
    /** The host to which the browser continues, or an app's scheme. */
    destination: string;
    /** Whether the answer is not remembered: any program on the device could be the one that asks. */
    isAskedAlways: boolean;
    /** How long the application keeps its access at most after a sign-in. */
    days: number;
    /** Where the consent is withdrawn. */
    accountUrl: string;
    /** Where somebody else signs in. */
    otherUrl: string;
    client: PageClient;
  };
  'select-account': { action: string; params: Params; identity: { email: string }; client: PageClient };
  'mfa-challenge': {
    params: Params;
    token: string;
    /** The address of the sign-in's person, and where somebody else signs in. */
    email: string | null;
    otherUrl: string;
    /** The factor that is asked for, and those that the person can choose instead. */
    factor: FactorKind;
    others: readonly FactorKind[];
    /** Whether a code is on its way by mail. */
    isSent: boolean;
    /** Whether a code is on its way that is not the first one. */
    isAgain: boolean;
    /** For how many days this device can be trusted; 0 if that is not offered. */
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
    /** Until when it can be postponed; null if it cannot. */
    until: Date | null;
    client: PageClient;
  };
  'mfa-enroll-totp': EnrollmentPage & {
    action: string;
    /** Sent back with the first code. */
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
    /** Null once the sign-in is over: then it cannot continue. */
    token: string | null;
    /** The `codes_token`, which shows that the form comes from the browser for which the codes are. */
    codesToken: string;
    /** Null if they were shown before. */
    codes: readonly string[] | null;
    /** After the sign-in is over: where it leads, and where new codes are made. Null before. */
    nextUrl: string | null;
    accountUrl: string | null;
    client: PageClient | null;
  };
  'mfa-expired': {
    /** Too late; too often: the sign-in has continued, or the code has let somebody in; or the wrong browser. */
    texts: 'mfa_expired' | 'sign_in_over' | 'code_used' | 'codes_elsewhere';
    againUrl: string | null;
  };
  'mfa-refused': { otherUrl: string };
  'method-refused': {
    title: TextKey;
    message: TextKey;
    /** The ways that are left, and where each begins. */
    ways: readonly { text: TextKey; values: Record<string, string>; url: string }[];
    /** For somebody with a code of an organization whose identity provider is down. */
    recovery: { token: string; isWrong: boolean } | null;
    /** Where others prove who they are first, and are then asked for one. */
    recoveryUrl: string | null;
    /** Where somebody else signs in. */
    otherUrl: string | null;
    params: Params;
  };
  /**
   * Leads to where a form may not lead by itself: to an identity provider, to sign in or out there; to a sign-in that
   * may lead to one; or to an application that begins one.
   */
  'sso-leave': { url: string; client: PageClient | null; to: 'provider' | 'sign_out' | 'sign_in' | 'application' };
  /** Leads to an application that wants its answer in a form (OAuth 2.0 Form Post Response Mode 1.0). */
  'form-post': { action: string; params: Params; hasButton: boolean };
  'sso-failed': {
    title: TextKey;
    message: TextKey;
    code: string;
    requestId: string;
    /** The same way again, or with another account there. */
    againUrl: string | null;
    againText: 'sso_failed.again' | 'sso_failed.another';
    /** The page that asks who the person is. */
    otherUrl: string | null;
    /** The page that asks who the person is, for a recovery code of an organization that requires its provider. */
    recoveryUrl: string | null;
  };
  /** Somebody comes back from a provider while somebody else is signed in, and nobody here asked for that. */
  'sso-someone-else': {
    action: string;
    params: Params;
    /** The address of the session's person; null for an administrator's session. */
    other: string | null;
    email: string;
    stayUrl: string | null;
    client: PageClient | null;
  };
  /** The link of a test sign-in: only its button uses it. */
  'sso-test': { action: string; token: string; connection: string };
  /** A link that was used, has expired, or is unknown. */
  'sso-test-void': { code: string };
  /** The result of a test sign-in, for the person who did it. */
  'sso-test-done': {
    connection: string;
    title: TextKey;
    message: TextKey;
    code: string | null;
    /** Why a person whom the provider vouches for would not get in. */
    reason: TextKey | null;
    /** For whoever maintains the connection, in English; partly the provider's words. */
    detail: string | null;
  };
  /** `email`: that of the signed-in person, if the page's client is known. */
  logout: { action: string; params: Params; email: string | null; client: { name: string } | null };
  /**
   * `isUnconfirmed`: signed out here, but not confirmed by the identity provider. `isOver`: nothing is known of the
   * sign-out, or no longer.
   */
  'signed-out': { clientUrl: string | null; isUnconfirmed: boolean; isOver: boolean };
  /** For somebody who would rather not sign out, if there is no known site to return to. */
  'still-signed-in': Record<string, never>;
  /** For an administrator who has signed in by an identity provider. */
  'admin-signed-in': { accountName: string };
  /** For an administrator whose second factor an application would ask for, of which this service was not told. */
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
  'accept-invite': {
    action: string;
    token: string;
    accountName: string;
    email: string;
    firstName: string;
    lastName: string;
    /** False for a person who has a sign-in already, which stays as it is. */
    asksNames: boolean;
    asksPassword: boolean;
    /** Whether the Account's identity provider can replace it. */
    passwordOptional: boolean;
    error: TextKey | null;
  };
  'invite-accepted': { accountName: string; nextUrl: string | null };
  /** `client`: that of an end user's invite, if it existed. */
  'invite-invalid': { nextUrl: string | null; isAccepted: boolean; client: PageClient | null };
  'link-invalid': { nextUrl: string | null; isOfPassword: boolean };
}
