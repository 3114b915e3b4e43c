import { access } from './access.js';
import { accounts } from './accounts.js';
import { administratorSignIn } from './administrator-sign-in.js';
import { counters, rowCounts } from './counts.js';
import { eventMonths } from './event-months.js';
import { events } from './events.js';
import { identities } from './identities.js';
import { lookUps } from './look-ups.js';
import { messages } from './messages.js';
import { oauth } from './oauth.js';
import { emailChanges, registrations } from './registrations.js';
import { requests } from './requests.js';
import { rowLevelSecurity } from './row-level-security.js';
import { scim } from './scim.js';
import { signIn } from './sign-in.js';
import { sso } from './sso.js';
import { tree } from './tree.js';
import { waymarks } from './waymarks.js';
import { webhooks } from './webhooks.js';

/** Addresses and names are compared without regard to case, searched by a part of them, and indexed beside an id. */
const extensions = `
create extension if not exists citext;
create extension if not exists pg_trgm;
create extension if not exists btree_gin;
create extension if not exists btree_gist;
`;

/** SQL of the first release's schema, in an order in which each part finds the tables that it names. */
export const schema: readonly string[] = [
  extensions,
  rowLevelSecurity,
  accounts,
  registrations,
  emailChanges,
  tree,
  identities,
  access,
  sso,
  signIn,
  administratorSignIn,
  oauth,
  scim,
  requests,
  messages,
  webhooks,
  events,
  eventMonths,
  counters,
  rowCounts,
  waymarks,
  lookUps,
];
