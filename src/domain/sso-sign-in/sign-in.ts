import type { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import type { SsoConnection } from '../../../entities/sso-connection.js';
import { after, type Clock, days, minutes } from '../../platform/clock.js';
import { newSecret } from '../../platform/crypto/one-time-secret.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import { type Db, inOwnTransaction, inTransaction } from '../../platform/database/db.js';
import { noteFailure, noteSuccess } from '../sso-connections/outcomes.js';
import { type ReadConnection, readConnection } from '../sso-connections/read.js';
import { type Assertion, type SsoRefusal, SsoRefused } from '../sso-protocols/assertion.js';
import { rememberedFor } from './lifetimes.js';
import type { RefusedAnswer, SsoOutcome } from './outcome.js';
import { recordSsoRefusal } from './record-refusal.js';
import { assertNotReplayed } from './replay.js';
import { createSsoRequests, type SsoPurpose, type SsoRequests, type TakenSsoRequest } from './requests.js';

/** What whoever sends somebody to a provider wants of the sign-in there. */
export interface Wishes {
  /** The address that was typed already, for the provider's form. */
  loginHint?: string | null;
  /** Whether the provider's own session is not enough. */
  forceAuthn?: boolean;
  /** Whether the person wants to be somebody else than whom the provider's session names. Nothing is held against the answer for it. */
  selectAccount?: boolean;
  /** Seconds since the sign-in at the provider that are accepted at most; null: any. */
  maxAge?: number | null;
}

/** How a protocol sends somebody away: with its own marks of the request in the URL, and what it must know of it later. */
export interface BeginsSso {
  begin(
    connection: SsoConnection,
    request: { requestId: string; state: string } & Required<Wishes>,
  ): Promise<{ url: string; secrets: Record<string, string> | null }>;
}

export interface StartSso extends Wishes {
  connection: SsoConnection;
  purpose: SsoPurpose;
  parameters: Record<string, string>;
  /** The browser's cookie, where it has one already: tabs share it. */
  browser: string | null;
}

export interface StartedSso {
  /** Where the browser goes. */
  url: string;
  requestId: string;
  /** The cookie's value, for as long as the request is remembered. */
  browser: string;
  expiresAt: Date;
}

export interface SsoSignInDeps {
  db: Db;
  sealing: Sealing;
  protocols: Partial<Record<SsoConnection['type'], BeginsSso>>;
  now: Clock;
}

/** An answer of a provider's, as a browser brings it. */
export interface SsoAnswer {
  state: string;
  connectionId: string;
  protocol: SsoConnection['type'];
  text: string;
}

/** Where the browser goes on that has brought one. */
export interface DeliveredAnswer {
  requestId: string;
  deliverer: string;
}

/** Looks at a provider's answer to a request. @throws SsoRefused */
export type Verify = (connection: SsoConnection, request: TakenSsoRequest) => Promise<Assertion>;

/**
 * The way to an identity provider and back, whatever protocol it speaks and whoever signs in: sent away by `start`, its answer
 * taken by `answer`, and the browser let go on by `complete`.
 */
export function createSsoSignIn({ db, sealing, protocols, now }: SsoSignInDeps) {
  const requests = createSsoRequests({ db, sealing, now });

  async function outcomeOf(
    connection: ReadConnection,
    request: TakenSsoRequest,
    { protocol, verify }: { protocol: SsoConnection['type']; verify: Verify },
  ): Promise<SsoOutcome> {
    try {
      if (connection.type !== protocol) throw new SsoRefused('state_mismatch', 'The connection uses another protocol');
      if (!connection.isOpen && request.purpose !== 'test')
        throw new SsoRefused('connection_disabled', 'The connection is not active, or its organization is not');
      const assertion = await verify(connection, request);
      if (assertion.once) await assertNotReplayed(db, connection, assertion.once);
      return { assertion };
    } catch (error) {
      if (!(error instanceof SsoRefused)) throw error;
      const { code, message, isSigned } = error;
      return { refusal: { code, message, isSigned } };
    }
  }

  async function noteRefusal(
    tx: EntityManager,
    connection: SsoConnection,
    request: TakenSsoRequest,
    { code, isSigned = false }: RefusedAnswer,
  ) {
    if (request.purpose === 'identity') await recordSsoRefusal(tx, { ...request, reason: code, outcome: 'failure' });
    const isOfConnection = saysSomethingOf.has(code) && !(code === 'expired' && mayBeTheirs(request, now()));
    const quiet = isAnybodys(connection, code, isSigned) ? days(7) : mayBeAskedFor.has(code) ? days(1) : 0;
    if (isOfConnection && isIdle(connection, quiet, now())) await noteFailure(tx, connection, code, now());
  }

  async function start({ connection, purpose, parameters, browser, ...wishes }: StartSso): Promise<StartedSso> {
    const { loginHint = null, forceAuthn = false, selectAccount = false, maxAge = null } = wishes;
    const [requestId, state, cookie] = [uuidv7(), newSecret(), browser ?? newSecret()];
    const protocol = protocols[connection.type];
    if (!protocol) throw new SsoRefused('configuration_incomplete', 'This protocol is not supported');
    // SAML can ask for neither an age nor an account: there it is signed in anew or not.
    const isMore = connection.type === 'saml' && (maxAge !== null || selectAccount);
    const isAnew = forceAuthn || connection.forceAuthn || isMore;
    const asked = { requestId, state, loginHint, forceAuthn: isAnew, selectAccount, maxAge };
    const { url, secrets } = await protocol.begin(connection, asked);
    const request = { id: requestId, connection, purpose, state, browser: cookie, secrets, parameters };
    if (!(await requests.begin(request))) {
      const { accountId, id } = connection;
      const its = await readConnection(inOwnTransaction(db, { accountId }), { accountId, id });
      if (!its) throw new SsoRefused('connection_disabled', 'The connection no longer exists');
      return start({ connection: its, purpose, parameters, browser, ...wishes }); // it has another provider by now
    }
    return { url, requestId, browser: cookie, expiresAt: after(now(), rememberedFor) };
  }

  return {
    requests,

    /**
     * Sends somebody to the provider of a connection. The caller has seen to it that the connection may be used.
     * @throws SsoRefused where the provider cannot be asked: provider_unreachable, configuration_incomplete, …; connection_disabled
     *   where the connection is deleted at this moment
     */
    start,

    /**
     * Takes the answer to the request that a state names, once: looks at it by `verify`, keeps what came of it and counts it.
     * @param protocol by which it came: whoever is sent away knows the state, and can take it to the other protocol's door
     * @param text what the provider has given to this browser alone
     * @returns the request that the browser goes on with, and what shows that it has brought the answer (`SsoRequests.delivererOf`),
     *   also where the answer is refused, comes again or comes too late; null where the state is unknown, or its request has gone meanwhile
     */
    async answer({ state, connectionId, protocol, text }: SsoAnswer, verify: Verify): Promise<DeliveredAnswer | null> {
      const deliverer = requests.delivererOf(state, text);
      const taken = await requests.take({ state, connectionId }, deliverer);
      if (!taken) return null;
      if ('repeated' in taken) return { requestId: taken.repeated, deliverer };
      const { accountId } = taken;
      const run = inOwnTransaction(db, { accountId });
      const connection = await readConnection(run, { accountId, id: connectionId });
      if (!connection) return null; // deleted a moment ago, with its requests
      const outcome = await outcomeOf(connection, taken, { protocol, verify });
      const isCounted = taken.purpose !== 'test';
      if ('assertion' in outcome) {
        const isKept = await requests.keep((...asked) => db.statement(...asked), taken.id, outcome);
        if (!isKept) return null;
        if (isCounted) await noteSuccess(run, connection, now());
      } else {
        const isKept = await db.transaction({ accountId }, async (tx) => {
          // The request before the connection, as everywhere.
          if (!(await requests.keep(inTransaction(tx), taken.id, outcome))) return false;
          if (isCounted) await noteRefusal(tx, connection, taken, outcome.refusal);
          return true;
        });
        if (!isKept) return null;
      }
      return { requestId: taken.id, deliverer };
    },

    /** Lets the browser that was sent away go on, once; see `SsoRequests.complete`. */
    complete: requests.complete,
  };
}

export type SsoSignIn = ReturnType<typeof createSsoSignIn> & { requests: SsoRequests };

/**
 * Whether somebody other than the provider can have answered so: anybody can begin a sign-in, and post or call back something
 * that is not signed, or name another issuer.
 */
const isAnybodys = ({ type }: SsoConnection, code: SsoRefusal, isSigned: boolean): boolean =>
  type === 'saml' ? !isSigned && code !== 'configuration_incomplete' : code === 'issuer_mismatch';

/**
 * Whether an answer can have expired by what the person did: they kept it until it was old. A clock that is wrong shows with
 * everybody who comes back at once.
 */
const mayBeTheirs = ({ createdAt }: TakenSsoRequest, now: Date): boolean => after(createdAt, minutes(1)) < now;

/**
 * What a person of the provider's can have it sign, in answer to the id of a request from here, and bring here: whoever asks it chooses
 * the id, for which application it is, and how the answer names people. Few providers want requests signed.
 */
const mayBeAskedFor: ReadonlySet<SsoRefusal> = new Set([
  'issuer_mismatch', // of providers that have a name for each application, and one key
  'audience_mismatch',
  'recipient_mismatch',
  'destination_mismatch',
  'subject_missing',
  'decryption_failed',
]);

/**
 * Whether nobody has signed in by a connection for so long, so that switching it off takes nothing from anybody: a provider's changed
 * key or settings are found out, and nobody keeps a customer's people from signing in.
 */
const isIdle = ({ lastLoginAt }: SsoConnection, quietMs: number, now: Date): boolean =>
  lastLoginAt === null || after(lastLoginAt, quietMs) <= now;

/**
 * What a provider's changed key, name or address looks like. The rest says nothing of the connection: somebody has pressed
 * "cancel" at the provider, answers of two tabs were mixed up, or the provider is away for a while and will be back.
 */
const saysSomethingOf: ReadonlySet<SsoRefusal> = new Set([
  'unsigned',
  'signature_invalid',
  'algorithm_refused',
  'issuer_mismatch',
  'audience_mismatch',
  'recipient_mismatch',
  'destination_mismatch',
  'expired',
  'not_yet_valid',
  'subject_missing',
  'decryption_failed',
  'client_refused',
  'configuration_incomplete',
]);
