import type { Pages } from './pages.js';
import type { PageScript } from './render.js';
import { templates } from './templates.js';

type Name = keyof Pages;

/** Pages whose form may be sent twice, and why. */
const mayBeSentTwice: ReadonlySet<Name> = new Set([
  'account', // a second one says the same
  'account-name', // likewise
  'account-remove', // a second one finds it gone, and says so
  'choose-application', // the token works once, and its answer leads away
  'consent', // consent is given, or is not
  'form-post', // is sent by a script
  'link-void', // sends a mail that says the same
  'logout', // signing out twice is signing out
  'select-account', // creates nothing
  'sso-test', // the link works once, and its answer leads away
]);

/**
 * The scripts that a page always has; without them it does the same, less comfortably. Its template says which: one that
 * shows a password, one that copies codes, and `sent-once` for a form of its own that does something that counts once. On
 * a second click, the browser would drop the answer to the first one, with its cookie, and show the result of doing it
 * twice; without scripts, the second form is answered all the same (docs/decisions/0006).
 */
export function scriptsOf(name: Name): readonly PageScript[] {
  return scripts.get(name) ?? [];
}

const scripts: ReadonlyMap<string, PageScript[]> = new Map(
  [...templates].map(([name, text]) => [name, neededBy(name, text)]),
);

function neededBy(name: string, template: string): PageScript[] {
  const isSentOnce = template.includes('<form method="post"') && !mayBeSentTwice.has(name as Name);
  return [
    ...(isSentOnce ? ['sent-once' as const] : []),
    ...(template.includes("include('@reveal'") ? ['reveal' as const] : []),
    ...(template.includes("include('@codes'") ? ['codes' as const] : []),
  ];
}

const mailed: ReadonlySet<Name> = new Set([
  'confirm-sign-up',
  'identity-invite',
  'identity-invite-accepted',
  'invite-invalid',
  'link-void',
  'password-reset-done',
  'reset-password',
  'sign-up-confirmed',
  'sso-test',
  'sso-test-done',
  'sso-test-void',
]);

/**
 * Whether the window that opened a page is cut off from it: from the own account, and from pages to which a mail leads.
 * An application may open its sign-in in a popup and wait there for the answer, also if something goes wrong on the way
 * and is fixed; isolation would cut it off for good.
 */
export const isIsolated = (name: Name): boolean => name.startsWith('account') || mailed.has(name);
