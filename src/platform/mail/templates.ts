import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Eta } from 'eta';
import { escapeMarkup } from '../markup.js';
import { projectRoot } from '../root.js';
import { gatehouse, type MailBrand, valuesOf } from './brand.js';
import { type Locale, type TextKey, textWith } from './texts.js';
import { oneLine, shown } from './values.js';

/** The values of each mail in `templates/email`, one line per folder, so that the compiler checks each caller. */
export interface EmailTemplates {
  'registration-verification': { first_name: string; account_name: string; link: string; expires_at_text: string };
  'registration-reminder': { first_name: string; account_name: string; link: string; hours_left: number };
  /** To the owner of an address that somebody tried to register again. */
  'registration-known-address': { first_name: string; account_name: string } & SignInLink;
  /** To somebody who has no password yet and signs in by other means. */
  'set-password': { first_name: string; link: string; expires_at_text: string };
  'password-reset': { first_name: string; link: string; expires_at_text: string };
  'password-changed': { first_name: string; changed_at_text: string } & SignInLink;
  /** To an administrator's new address, before it replaces the old one. */
  'email-change': { first_name: string; link: string; expires_at_text: string };
  /** To an address with which somebody signs in already, and which somebody else wants to sign in with. */
  'email-change-taken': { first_name: string } & SignInLink;
  /** To an administrator's old address. */
  'email-changed': { first_name: string; changed_at_text: string };
  'account-creation-failed': { first_name: string; account_name: string; reason: string } & SignInLink;
  'administrator-invite': AdministratorInviteMail;
  'administrator-invite-reminder': AdministratorInviteMail;
  'identity-invite': IdentityInviteMail;
  'identity-invite-reminder': IdentityInviteMail;
  /** To an end user whose Environment requires a second factor, before the time to enroll one ends. */
  'mfa-grace-reminder': { first_name: string; application_name: string; expires_at_text: string; link: string };
  /** To somebody who signed up and has to confirm their address. */
  'verify-email': IdentityLinkMail;
  /** To a person of the Account who signed up in another of its Environments. */
  'sign-up-join': IdentityLinkMail;
  /** To the owner of an address with which somebody signed up again. */
  'sign-up-known-address': { first_name: string; application_name: string; link: string; forgot_link: string };
  'identity-password-reset': IdentityLinkMail;
  'identity-password-changed': { first_name: string; application_name: string; changed_at_text: string };
  /** A code to an end user's new address, before it replaces the old one. */
  'identity-email-code': CodeMail;
  /** To an address that already has an account, in place of the code that was requested for another one. */
  'identity-email-taken': { first_name: string; application_name: string };
  /** To an end user's old address. */
  'identity-email-changed': { first_name: string; application_name: string; changed_at_text: string };
  /** A one-time code: to sign in, as the second step of it, or to prove that codes arrive before they are a factor. */
  'sign-in-code': CodeMail;
  'second-step-code': CodeMail & Advice;
  'factor-code': CodeMail & Advice;
  /** To somebody whose role has begun, ends soon or has ended, if the person who gave it asked for these mails. */
  'role-activated': RoleWindowMail;
  'role-expiring': RoleWindowMail;
  'role-expired': RoleWindowMail;
  /** To administrators, when ten answers in a row of an identity provider were refused. */
  'sso-connection-auto-disabled': { first_name: string; account_name: string; connection: string; since_text: string };
  /** To administrators, when the certificates of a SAML identity provider expire soon, or have expired. */
  'sso-certificate-expiring': { first_name: string; account_name: string; connection: string; until_text: string };
  /** To the person who claimed a domain whose DNS record has disappeared, or else to an Owner. */
  'sso-domain-lapsed': LapsedDomainMail;
  /** To an end user whose second factors have changed, or whose recovery code was used. */
  'security-notice': { first_name: string; application_name: string; what: string; happened_at_text: string } & Advice;
  /** To an administrator whose own second factors have changed, or whose recovery code was used. */
  'admin-security-notice': { first_name: string; what: string; happened_at_text: string } & SignInLink;
  /** To administrators, when a webhook's receiver has accepted nothing for days. */
  'webhook-disabled': { first_name: string; account_name: string; receiver: string; since_text: string };
}

interface SignInLink {
  /** Where administrators sign in; null if no page is known: the mail then has no button. */
  link: string | null;
}

interface CodeMail {
  first_name: string;
  code: string;
  application_name: string;
  minutes_left: number;
}

interface Advice {
  /** What people should do first if they did not do this themselves. */
  advice: string;
}

interface IdentityLinkMail {
  first_name: string;
  application_name: string;
  link: string;
  expires_at_text: string;
}

interface IdentityInviteMail {
  first_name: string;
  /** What the person is invited to: the application, the Account or the organization. */
  place_name: string;
  /** Who invites: a person's name, or the Account's. */
  inviter: string;
  link: string;
  expires_at_text: string;
}

interface LapsedDomainMail {
  first_name: string;
  domain: string;
  /** For what it was claimed: the Account or the organization. */
  place_name: string;
  record_name: string;
  record_value: string;
  /** Why this person gets the mail. */
  reason: string;
}

interface RoleWindowMail {
  first_name: string;
  application_name: string;
  role_name: string;
  node_name: string;
  /** When the role ends, or that it does not end. */
  ends_at_text: string;
}

interface AdministratorInviteMail {
  first_name: string;
  account_name: string;
  /** Who invites: a person's name, or the Account's. */
  inviter: string;
  role: string;
  link: string;
  expires_at_text: string;
}

export interface RenderedEmail {
  subject: string;
  html: string;
  text: string;
}

/** A compiled part, split at its values: markup at even positions, names of values at odd ones. */
type Pieces = readonly string[];
type Compiled = Record<keyof RenderedEmail, Pieces>;

/** The placeholder of a value while MJML compiles; letters only, so that no parser on the way changes it. */
const slot = (name: string) => `@@${name}@@`;
const slots = /@@([a-z_]+)@@/;

const compiled = new Map<string, Promise<Compiled>>();

/**
 * Renders a mail. The template is compiled once per language, and once more for brands with a support address, and for
 * a mail without its link; after that only the values are filled in.
 * @param brand the brand that the mail shows; by default ours
 */
export async function renderEmail<N extends keyof EmailTemplates>(
  name: N,
  locale: Locale,
  values: EmailTemplates[N],
  brand: MailBrand = gatehouse,
): Promise<RenderedEmail> {
  const supported = brand.supportEmail !== null;
  const linked = !('link' in values && values.link === null);
  const key = `${name}/${locale}/${supported}/${linked}`;
  const parts = compiled.get(key) ?? compile(name, locale, { supported, linked });
  compiled.set(key, parts); // the promise, so that concurrent mails compile the template once
  const { subject, html, text } = await parts;
  const all: Record<string, string | number | null | undefined> = { ...values, ...valuesOf(brand) };
  const value = (slotName: string) => {
    const given = all[slotName];
    if (given === undefined || given === null) throw new Error(`No value for ${slotName} in the mail ${name}`);
    return shown(locale, slotName, given);
  };
  return {
    subject: oneLine(fill(subject, value)),
    html: fill(html, (slotName) => escapeMarkup(value(slotName))),
    text: fill(text, value),
  };
}

/** Fills in all values at once, so that a value which looks like a slot stays as it is. */
const fill = (pieces: Pieces, value: (name: string) => string) =>
  pieces.map((piece, i) => (i % 2 ? value(piece) : piece)).join('');

/** The optional parts of a mail: the support address, and the link. */
interface Extras {
  supported: boolean;
  linked: boolean;
}

async function compile(name: keyof EmailTemplates, locale: Locale, extras: Extras): Promise<Compiled> {
  const evaluated = (file: string) => evaluate(name, file, locale, extras);
  // Loaded for the first mail: the library is heavy, and the processes that answer requests send no mails.
  const { default: mjml2html } = await import('mjml');
  const { html } = await mjml2html(evaluated('body.mjml'), {
    validationLevel: 'strict',
    fonts: {},
    keepComments: false,
  });
  return {
    subject: evaluated('subject.txt').split(slots),
    html: withColorSlots(html).split(slots),
    text: `${evaluated('body.txt').trim()}\n`.split(slots),
  };
}

/** MJML accepts nothing but a color where a color belongs, so these replace the slots until it has compiled. */
const standIns = { buttonColor: '#0b0b01', buttonText: '#0b0b02', buttonEdge: '#0b0b03' };
const withColorSlots = (html: string) =>
  html
    .replaceAll(standIns.buttonColor, slot('button_color'))
    .replaceAll(standIns.buttonText, slot('button_text'))
    .replaceAll(standIns.buttonEdge, slot('button_edge'));

/** Evaluates a template with the catalogue's texts and a slot for each value. */
function evaluate(name: string, file: string, locale: Locale, extras: Extras): string {
  const markup = file.endsWith('.mjml');
  const eta = new Eta({
    functionHeader: 'const { t, rich } = it;',
    autoEscape: markup,
    escapeFunction: (value) => escapeMarkup(String(value)),
    autoTrim: markup ? [false, 'nl'] : false,
  });
  const read = (folder: string, of: string) => readFileSync(join(projectRoot, 'templates/email', folder, of), 'utf8');
  if (file !== 'subject.txt') eta.loadTemplate('@layout', read('layout', file));
  if (markup) for (const part of ['button', 'code']) eta.loadTemplate(`@${part}`, read('layout', `${part}.mjml`));
  return eta.renderString(read(name, file), {
    locale,
    ...extras,
    ...standIns,
    t: (key: TextKey) => textWith(locale, key, slot),
    rich: (key: TextKey) => escapeMarkup(textWith(locale, key, slot)).replace(/@@[a-z_]+@@/g, '<strong>$&</strong>'),
  });
}
