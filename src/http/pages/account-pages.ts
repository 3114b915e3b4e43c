import type { EnrollableKind } from '../../domain/mfa/standing.js';
import type { ScopeName } from '../../domain/oidc/scopes.js';
import type { TextKey } from '../../platform/mail/texts.js';
import type { PageClient } from './page-client.js';

/** A browser as it calls itself: the two names that people know, where it said them. */
export interface ShownDevice {
  browser: string | null;
  system: string | null;
}

export interface ShownFactor {
  id: string;
  kind: EnrollableKind;
  /** What its owner calls it; null where it is called by what it is. */
  label: string | null;
  name: TextKey;
  enrolledAt: Date;
  lastUsedAt: Date | null;
}

/** What all pages of a person's own account are given. */
export interface AccountPage {
  /** What forms carry: `client_id`, `ui_locales` where it was given, and the session that the page was shown to. */
  params: Readonly<Record<string, string>>;
  /** What links carry: the same but for the session. */
  query: string;
  client: PageClient;
}

/** The pages on which signed-in people look after their own account. */
export interface AccountPages {
  account: AccountPage & {
    now: Date;
    done: TextKey | null;
    /** Where the application that leads here begins; null where it has no site. */
    siteUrl: string | null;
    person: { name: string | null; email: string };
    /** Null where the Environment takes no passwords. */
    password: { isSet: boolean; changedAt: Date | null } | null;
    factors: readonly ShownFactor[];
    /** Kinds of factors that can be added. */
    addable: readonly EnrollableKind[];
    /** Whether codes by mail are none of them because the sign-in began with one. */
    cameByMail: boolean;
    /** Whether they came by a provider for tests and are in production, from where alone they change how they sign in. */
    isBound: boolean;
    /** Null without a factor that they would stand in for. */
    recoveryCodesLeft: number | null;
    sessions: readonly {
      id: string;
      device: ShownDevice;
      isCurrent: boolean;
      /** Whether it signs in without asking; else only applications go on with what they were given in it. */
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
      /** What tells it from others of its name; null where there is none. */
      mark: string | null;
      since: Date;
      /** What the person has allowed it; null where it did not ask. */
      scopes: readonly ScopeName[] | null;
    }[];
  };
  'account-password': AccountPage & { email: string; hasPassword: boolean; minLength: number; error: TextKey | null };
  'account-totp': AccountPage & {
    secret: string;
    /** `otpauth://`, for an app on the same device. */
    uri: string;
    /** SVG markup of ours, which names nothing that comes from outside. */
    qrSvg: string;
    sealed: string;
    label: string;
    error: TextKey | null;
  };
  'account-webauthn': AccountPage;
  'account-email-otp': AccountPage & { email: string; isSent: boolean; isAgain: boolean; error: TextKey | null };
  'account-remove': AccountPage & {
    factor: ShownFactor;
    isOnlyOne: boolean;
    /** Whether it is the last one where one has to be: then there is nothing to remove, but `addable` before. */
    isRequired: boolean;
    addable: readonly EnrollableKind[];
  };
  'account-name': AccountPage & { factor: ShownFactor };
  'account-recovery': AccountPage & { left: number };
  'account-codes': AccountPage & { codes: readonly string[] };
}
