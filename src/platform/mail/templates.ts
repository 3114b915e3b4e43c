import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Eta } from 'eta';
import { escapeMarkup } from '../markup.js';
import { projectRoot } from '../root.js';
import { gatehouse, type MailBrand, valuesOf } from './brand.js';
import { type Locale, type TextKey, textWith } from './texts.js';
import { oneLine, shown } from './values.js';

/** The values of each mail in `templates/email`, a line per folder: the compiler checks each caller. */
export interface EmailTemplates {
  'registration-verification': { first_name: string; account_name: string; link: string; expires_at_text: string };
  'registration-reminder': { first_name: string; account_name: string; link: string; hours_left: number };
  /** To the owner of an address that somebody tried to register once more. */
  'registration-known-address': { first_name: string; account_name: string } & SignInLink;
  /** To somebody who has signed in without a password so far. */
  'set-password': { first_name: string; link: string; expires_at_text: string };
  'password-reset': { first_name: string; link: string; expires_at_text: string };
  'password-changed': { first_name: string; changed_at_text: string } & SignInLink;
  'account-creation-failed': { first_name: string; account_name: string; reason: string } & SignInLink;
  'administrator-invite': AdministratorInviteMail;
  'administrator-invite-reminder': AdministratorInviteMail;
  'identity-invite': IdentityInviteMail;
  'identity-invite-reminder': IdentityInviteMail;
  /** To an end user whose Environment requires a second factor, before the time to enroll one is over. */
  'mfa-grace-reminder': { first_name: string; application_name: string; expires_at_text: string; link: string };
  /** To the address of somebody who signed up, who has to confirm it. */
  'verify-email': IdentityLinkMail;
  /** To a person whom the Account knows, and who signed up in another Environment of it. */
  'sign-up-join': IdentityLinkMail;
  /** To the owner of an address that somebody signed up with once more. */
  'sign-up-known-address': { first_name: string; application_name: string; link: string; forgot_link: string };
  'identity-password-reset': IdentityLinkMail;
  'identity-password-changed': { first_name: string; application_name: string; changed_at_text: string };
  /** A one-time code: it signs in, is the second step of that, or shows that codes arrive before they are one. */
  'sign-in-code': CodeMail;
  'second-step-code': CodeMail & Advice;
  'factor-code': CodeMail & Advice;
  /** To somebody whose role has begun, ends soon or has ended, where whoever gave it asked for these mails. */
  'role-activated': RoleWindowMail;
  'role-expiring': RoleWindowMail;
  'role-expired': RoleWindowMail;
  /** To administrators, when ten answers of an identity provider in a row were refused. */
  'sso-connection-auto-disabled': { first_name: string; account_name: string; connection: string; since_text: string };
  /** To the same, when the certificates of a provider that speaks SAML end soon, or have ended. */
  'sso-certificate-expiring': { first_name: string; account_name: string; connection: string; until_text: string };
  /** To whoever claimed a domain whose record has gone. */
  'sso-domain-lapsed': { first_name: string; domain: string; record_name: string; record_value: string };
  /** To an end user whose second factors have changed, or whose recovery code was used. */
  'security-notice': { first_name: string; application_name: string; what: string; happened_at_text: string } & Advice;
  /** To an administrator whose own second factors have changed, or whose recovery code was used. */
  'admin-security-notice': { first_name: string; what: string; happened_at_text: string } & SignInLink;
  /** To administrators, when a webhook's receiver has taken nothing for days. */
  'webhook-disabled': { first_name: string; account_name: string; receiver: string; since_text: string };
}

interface SignInLink {
  /** Where administrators sign in; null where no page is known, and the mail then has no button. */
  link: string | null;
}

interface CodeMail {
  first_name: string;
  code: string;
  application_name: string;
  minutes_left: number;
}

interface Advice {
  /** What to do first, for whoever did not do this. */
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
  /** Whereto: the application, the Account or the organization. */
  place_name: string;
  /** Who asks: a person's name, or the Account's. */
  inviter: string;
  link: string;
  expires_at_text: string;
}

interface RoleWindowMail {
  first_name: string;
  application_name: string;
  role_name: string;
  node_name: string;
  /** A moment, or that there is none. */
  ends_at_text: string;
}

interface AdministratorInviteMail {
  first_name: string;
  account_name: string;
  /** Who asks: a person's name, or the Account's. */
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

/** A compiled part, cut where values go: markup at even positions, names of values at odd ones. */
type Pieces = readonly string[];
type Compiled = Record<keyof RenderedEmail, Pieces>;

/** What stands for a value while MJML compiles; letters only, so that no parser on the way changes it. */
const slot = (name: string) => `@@${name}@@`;
const slots = /@@([a-z_]+)@@/;

const compiled = new Map<string, Promise<Compiled>>();

/**
 * A mail as it is sent. The template is compiled once per language, and once more for brands with an address for support,
 * and for a mail that has no link this time; after that only its values are filled in.
 * @param brand as whose mail it is shown; without one, as ours
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
  compiled.set(key, parts); // the promise, so that mails that come together compile once
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

/** Values go in side by side, so that one that looks like a slot stays what it is. */
const fill = (pieces: Pieces, value: (name: string) => string) =>
  pieces.map((piece, i) => (i % 2 ? value(piece) : piece)).join('');

/** What a mail has beside its own words. */
interface Extras {
  supported: boolean;
  linked: boolean;
}

async function compile(name: keyof EmailTemplates, locale: Locale, extras: Extras): Promise<Compiled> {
  const evaluated = (file: string) => evaluate(name, file, locale, extras);
  // Loaded with the first mail: it is heavy, and the processes that answer requests send none.
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

/** MJML takes nothing but colors where a color goes, so that these stand for the slots until it is done. */
const standIns = { buttonColor: '#0b0b01', buttonText: '#0b0b02', buttonEdge: '#0b0b03' };
const withColorSlots = (html: string) =>
  html
    .replaceAll(standIns.buttonColor, slot('button_color'))
    .replaceAll(standIns.buttonText, slot('button_text'))
    .replaceAll(standIns.buttonEdge, slot('button_edge'));

/** Runs a template with the catalogue's texts in it and a slot for each value. */
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
