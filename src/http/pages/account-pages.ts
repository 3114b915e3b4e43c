import type { EnrollableKind } from '../../domain/mfa/state.js';
import type { ScopeName } from '../../domain/oidc/scopes.js';
import type { TextKey } from '../../platform/mail/texts.js';
import type { PageClient } from './page-client.js';

/** A browser by the two names that people know, as far as its `User-Agent` has them. */
export interface ShownDevice {
  browser: string | null;
  system: string | null;
}

export interface ShownFactor {
  id: string;
  kind: EnrollableKind;
  /** Its owner's name for it; null if it has the default name of its kind. */
  label: string | null;
  name: TextKey;
  enrolledAt: Date;
  lastUsedAt: Date | null;
  /** Whether it signs in by itself, as a passkey. */
  signsIn: boolean;
}

/** The values that all pages of a person's own account share. */
export interface AccountPage {
  /** The fields of every form: `client_id`, `ui_locales` if given, and the session to which the page was shown. */
  params: Readonly<Record<string, string>>;
  /** The query of every link: the same without the session. */
  query: string;
  client: PageClient;
}

/** The pages on which signed-in people manage their own account. */
export interface AccountPages {
  account: AccountPage & {
    now: Date;
    done: TextKey | null;
    /** Where the application that led here begins; null if it has no site. */
    siteUrl: string | null;
    person: { name: string | null; email: string };
    /** Whether they may change their address. */
    changesEmail: boolean;
    /** Null if the Environment does not accept passwords. */
    password: { isSet: boolean; changedAt: Date | null } | null;
    factors: readonly ShownFactor[];
    /** Whether passkeys sign in here, so that a key that does not is worth a word. */
    takesPasskeys: boolean;
    /** The sign-in that makes a key a passkey again; null if keys are not asked for here. */
    showKeyUrl: string | null;
    /** Kinds of factors that can be added. */
    addable: readonly EnrollableKind[];
    /** Whether codes by mail are missing because the sign-in began with one. */
    cameByMail: boolean;
    /**
     * Whether they signed in by a test Environment's provider and are in production, where alone they change how they
     * sign in.
     */
    isBound: boolean;
    /** Null without a factor that they could replace. */
    recoveryCodesLeft: number | null;
    sessions: readonly {
      id: string;
      device: ShownDevice;
      isCurrent: boolean;
      /** Whether it signs in without asking; otherwise only applications still hold what they were granted in it. */
      isOpen: boolean;
      createdAt: Date;
      authenticatedAt: Date;
    }[];
    devices: readonly { id: string; device: ShownDevice; isCurrent: boolean; createdAt: Date; expiresAt: Date }[];
    devicesNotShown: number;
    applicationsNotShown: number;
    applications: readonly {
      id: string;
      name: string;
      /** What distinguishes it from others of its name; null if there are none. */
      mark: string | null;
      since: Date;
      /** What the person has allowed it; null if it did not ask. */
      scopes: readonly ScopeName[] | null;
    }[];
  };
  'account-password': AccountPage & { email: string; hasPassword: boolean; minLength: number; error: TextKey | null };
  'account-email': AccountPage & {
    present: string;
    /** The new address as typed. */
    typed: string;
    /** Whether a code is on its way to it, and the page asks for the code. */
    isSent: boolean;
    isAgain: boolean;
    error: TextKey | null;
    /** When another code can be sent, if there were too many. */
    retryAfterSeconds?: number | null;
  };
  'account-totp': AccountPage & {
    secret: string;
    /** `otpauth://`, for an app on the same device. */
    uri: string;
    /** SVG markup of ours, which contains nothing from outside. */
    qrSvg: string;
    sealed: string;
    label: string;
    error: TextKey | null;
  };
  'account-webauthn': AccountPage;
  'account-email-otp': AccountPage & {
    email: string;
    isSent: boolean;
    isAgain: boolean;
    error: TextKey | null;
    /** As above. */
    retryAfterSeconds?: number | null;
  };
  'account-remove': AccountPage & {
    factor: ShownFactor;
    isOnlyOne: boolean;
    /** Whether it is the last one where one is required: then it cannot be removed before one of `addable` is added. */
    isRequired: boolean;
    addable: readonly EnrollableKind[];
  };
  'account-name': AccountPage & { factor: ShownFactor };
  'account-recovery': AccountPage & { left: number };
  'account-codes': AccountPage & { codes: readonly string[] };
}
