import type { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import type { SsoConnection } from '../../../entities/sso-connection.js';
import { after, type Clock, days, minutes } from '../../platform/clock.js';
import { currentContext } from '../../platform/context.js';
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

/** What is requested of the sign-in when a person is sent to a provider. */
export interface Wishes {
  /** The address that was typed already, for the provider's form. */
  loginHint?: string | null;
  /** Whether the provider's own session is not enough. */
  forceAuthn?: boolean;
  /**
   * Whether the person wants to choose another account than that of the provider's session. The answer is not checked
   * for it.
   */
  selectAccount?: boolean;
  /** The greatest accepted age of the sign-in at the provider, in seconds; null: any. */
  maxAge?: number | null;
}

/**
 * How a protocol sends a person to a provider: the URL with its own marks of the request, and what it has to remember.
 */
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
  /** The browser's cookie, if it has one already: tabs share it. */
  browser: string | null;
}

export interface StartedSso {
  /** Where to send the browser. */
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

/** A provider's answer, as a browser brings it. */
export interface SsoAnswer {
  state: string;
  connectionId: string;
  protocol: SsoConnection['type'];
  text: string;
}

/** The request with which a browser that has delivered a response continues. */
export interface DeliveredAnswer {
  requestId: string;
  deliverer: string;
}

/** Checks a provider's answer to a request. @throws SsoRefused */
export type Verify = (connection: SsoConnection, request: TakenSsoRequest) => Promise<Assertion>;

/**
 * The way to an identity provider and back, for every protocol and for everybody who signs in: `start` sends the
 * browser to the provider, `answer` accepts the provider's response, and `complete` lets the browser continue.
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
      return { refusal: { code, message, isSigned, requestId: currentContext().correlationId } };
    }
  }

  /** Records a refused response, and counts it against the connection if its provider has caused the refusal. */
  async function noteRefusal(
    tx: EntityManager,
    connection: SsoConnection,
    request: TakenSsoRequest,
    { code, isSigned = false }: RefusedAnswer,
  ) {
    if (request.purpose === 'identity') await recordSsoRefusal(tx, { ...request, reason: code, outcome: 'failure' });
    const isCausedByProvider = causedByProvider.has(code) && !(code === 'expired' && mayBeHeldBack(request, now()));
    const quietMs = mayBeForged(connection, code, isSigned) ? days(7) : canBeProvoked.has(code) ? days(1) : 0;
    if (isCausedByProvider && isIdle(connection, quietMs, now())) await noteFailure(tx, connection, code, now());
  }

  async function start({ connection, purpose, parameters, browser, ...wishes }: StartSso): Promise<StartedSso> {
    const { loginHint = null, forceAuthn = false, selectAccount = false, maxAge = null } = wishes;
    const [requestId, state, cookie] = [uuidv7(), newSecret(), browser ?? newSecret()];
    const protocol = protocols[connection.type];
    if (!protocol) throw new SsoRefused('configuration_incomplete', 'This protocol is not supported');
    // SAML can request neither an age nor a choice of account, only a new sign-in.
    const isBeyondSaml = connection.type === 'saml' && (maxAge !== null || selectAccount);
    const isForced = forceAuthn || connection.forceAuthn || isBeyondSaml;
    const asked = { requestId, state, loginHint, forceAuthn: isForced, selectAccount, maxAge };
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
     * Sends a person to the provider of a connection. The caller has checked that the connection may be used.
     * @throws SsoRefused if the provider cannot be asked (provider_unreachable, configuration_incomplete, …);
     *   connection_disabled if the connection is deleted at this moment
     */
    start,

    /**
     * Accepts the response to the request that a state names, once: checks it by `verify`, stores and counts the
     * result.
     * @param protocol by which it came: the person knows the state, and could use it with the other protocol
     * @param text what the provider has given to this browser alone
     * @returns the request with which the browser continues, and the proof that it has delivered the response
     *   (`SsoRequests.delivererOf`), also if the response is refused, repeated or too late; null if the state is
     *   unknown, or its request was deleted meanwhile
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
        const isStored = await requests.storeOutcome((...asked) => db.statement(...asked), taken.id, outcome);
        if (!isStored) return null;
        if (isCounted) await noteSuccess(run, connection, now());
      } else {
        const isStored = await db.transaction({ accountId }, async (tx) => {
          // The request is locked before the connection, as everywhere.
          if (!(await requests.storeOutcome(inTransaction(tx), taken.id, outcome))) return false;
          if (isCounted) await noteRefusal(tx, connection, taken, outcome.refusal);
          return true;
        });
        if (!isStored) return null;
      }
      return { requestId: taken.id, deliverer };
    },

    /** Lets the browser that was sent to the provider continue, once; see `SsoRequests.complete`. */
    complete: requests.complete,
  };
}

export type SsoSignIn = ReturnType<typeof createSsoSignIn> & { requests: SsoRequests };

/**
 * Whether somebody other than the provider can have sent this response: anybody can begin a sign-in, and then send
 * something that is not signed, or names another issuer.
 */
const mayBeForged = ({ type }: SsoConnection, code: SsoRefusal, isSigned: boolean): boolean =>
  type === 'saml' ? !isSigned && code !== 'configuration_incomplete' : code === 'issuer_mismatch';

/**
 * Whether a response may have expired because the person held it back. A wrong clock, in contrast, affects everybody
 * who comes back.
 */
const mayBeHeldBack = ({ createdAt }: TakenSsoRequest, now: Date): boolean => after(createdAt, minutes(1)) < now;

/**
 * Refusals of what a person of the provider can make it sign, in answer to the id of a request from here, and bring here:
 * they choose the id, the application, and how the answer names people. Few providers require signed requests.
 */
const canBeProvoked: ReadonlySet<SsoRefusal> = new Set([
  'issuer_mismatch', // of providers with an issuer for each application, and one key
  'audience_mismatch',
  'recipient_mismatch',
  'destination_mismatch',
  'subject_missing',
  'decryption_failed',
]);

/**
 * Whether nobody has signed in by a connection for so long that disabling it harms nobody: this detects a provider's
 * changed key or settings, and nobody can lock out a customer's people.
 */
const isIdle = ({ lastLoginAt }: SsoConnection, quietMs: number, now: Date): boolean =>
  lastLoginAt === null || after(lastLoginAt, quietMs) <= now;

/**
 * Refusals that a provider's changed key, name or address causes. The others say nothing about the connection: a person
 * has pressed "cancel" at the provider, responses of two tabs were mixed up, or the provider is down for a while.
 */
const causedByProvider: ReadonlySet<SsoRefusal> = new Set([
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
