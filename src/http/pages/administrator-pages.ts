import type { TextKey } from '../../platform/mail/texts.js';

/** The pages to which the mailed links of administrators lead. */
export interface AdministratorPages {
  'verify-email': {
    action: string;
    /** Where somebody who has not registered sends the form; null if it was confirmed, and only the answer was lost. */
    declineAction: string | null;
    token: string;
    accountName: string;
    email: string;
    /** Whether it takes the password of the registration: in every browser except the one that registered. */
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
  'confirm-email-change': {
    action: string;
    token: string;
    /** The new address. */
    email: string;
    /** Whether it takes the person's password: in every browser except the one that requested the change. */
    asksPassword: boolean;
    error: TextKey | null;
  };
  'email-change-done': { email: string; nextUrl: string | null };
}
