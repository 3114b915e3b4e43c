import type { Static, TSchema } from 'typebox';
import type { Permission } from '../domain/access/permissions.js';
import type { Caller } from '../domain/caller.js';
import type { Capability } from '../domain/capabilities/administrator-roles.js';
import type { DomainError, ErrorCode } from '../domain/errors.js';
import type { EventAction } from '../domain/events/catalogue.js';
import { groupBy } from '../platform/group-by.js';
import type { AccountScope, ApplicationScope, EnvironmentScope } from '../platform/scope.js';
import type { Services } from '../services.js';
import { ErrorEnvelope, httpStatusOf } from './errors.js';

/** What an operation's resource belongs to; decides which slugs its Portal path has. */
export type Level = 'account' | 'application' | 'environment';
export interface ScopeAt {
  account: AccountScope;
  application: ApplicationScope;
  environment: EnvironmentScope;
}

/** Membership in the Account is enough. */
export const anyMember = Symbol('any member');

/** The usual limit of a body: a mebibyte. */
export const usualLimit = 1024 * 1024;

/**
 * One declaration of an operation. It validates, types, authorizes and documents, and is mounted on each surface that
 * offers it (architecture, "Operations are declared once").
 */
export interface OperationSpec<L extends Level, P extends TSchema, Q extends TSchema, B extends TSchema> {
  id: string;
  /** Below the surface's prefix, as `/nodes/:id`. */
  path: string;
  summary: string;
  description?: string;
  tag: string;
  level: L;
  params?: P;
  query?: Q;
  body?: B;
  /** The limit of the body in bytes, where it is more than `usualLimit`. */
  bodyLimit?: number;
  /**
   * A property of the body whose elements are handled one by one: an element of the wrong shape does not refuse the
   * request, but is passed to the handler (`refusals`).
   */
  eachAlone?: string;
  /** The success's status and schema first, then `errors(…)`. */
  answers: Record<number, TSchema>;
  /** `required`: the caller must send the version that it read. */
  ifMatch?: 'required';
  /**
   * A role is enough that counts only in a part of the tree. Where the permission is checked `at` a node, so is the
   * capability; otherwise the handler keeps to what the caller reaches.
   */
  inPart?: true;
  /** Also shows what only leads to a part that the caller reaches; the handler marks it. Together with `inPart`. */
  onTheWay?: true;
  /**
   * It can end the caller's own access to what the path names, as when it changes the slug or removes a role of theirs.
   * A retry with the same Idempotency-Key is then still given the first answer. Not for operations whose answer holds a
   * secret.
   */
  retriedWithoutAccess?: true;
  /**
   * Milliseconds that it may take beyond the time of any request: as long as a caller may ask it to wait for something.
   * Infinite where the answer goes out piece by piece, as fast as it is read.
   */
  waitsMs?: number;
  /**
   * Whether the query may keep PostgreSQL busy for long if there is much data. Then it waits for its turn, so that
   * tokens and decisions need not (`services.broadReads`).
   */
  isBroad?(query: Static<Q>): boolean;
  /**
   * Its answer is sent piece by piece and stays in memory until then, so it waits for a turn that lasts as long
   * (`services.heavyAnswers`).
   */
  isHeavy?: true;
  /** Throws the 404 if what the path names does not exist; only called when the rest of the request is invalid. */
  exists?(context: Pick<Context<L, P, TSchema, TSchema>, 'services' | 'scope' | 'caller' | 'params'>): Promise<unknown>;
  handle(context: Context<L, P, Q, B>): Promise<unknown>;
}

export interface Context<L extends Level, P extends TSchema, Q extends TSchema, B extends TSchema> {
  services: Services;
  scope: ScopeAt[L];
  caller: Caller;
  params: Static<P>;
  query: Static<Q>;
  body: Static<B>;
  /** From If-Match; 0 where the operation has none. */
  version: number;
  /** The invalid elements of the body's array, by their index (`eachAlone`). */
  refusals: ReadonlyMap<number, DomainError>;
}

/** A permission at the Environment's root, or one of several at a node. */
export type PermissionRule = Permission | NodePermission;

export interface NodePermission {
  anyOf: readonly Permission[];
  /**
   * The path parameter that names the node, or `root`. Null: it is enough to hold the permission somewhere, and the
   * handler keeps to those nodes (`services.rights`); for lists, and operations whose body names the node.
   */
  at: string | null;
  /** The 404 where the node does not exist. */
  missing: ErrorCode;
}

/** One of the permissions at the node that a parameter of the path names. */
export const at = (
  parameter: string,
  anyOf: Permission | readonly Permission[],
  missing: ErrorCode = 'nodes.node_not_found',
): NodePermission => ({
  anyOf: typeof anyOf === 'string' ? [anyOf] : anyOf,
  at: parameter,
  missing,
});

/** One of the permissions at the Environment's root. */
export const atRoot = (...anyOf: Permission[]): NodePermission => ({
  anyOf,
  at: 'root',
  missing: 'nodes.node_not_found',
});

/** One of the permissions at any node; the handler keeps to those where it is held. */
export const somewhere = (...anyOf: Permission[]): NodePermission => ({
  anyOf,
  at: null,
  missing: 'nodes.node_not_found',
});

/** What callers need. An operation that names neither does not compile. */
export type Authorization =
  | { permission: PermissionRule; capability: Capability | typeof anyMember }
  | { permission: PermissionRule; capability?: undefined }
  | { permission?: undefined; capability: Capability | typeof anyMember };

/**
 * The events that may have been recorded when it answers, by itself or by a workflow that it waits for. Every write
 * declares them, even if there are none, and so does a read that is worth an audit row. Refusals (`auth.access_denied`)
 * need not be named.
 */
export type Recording =
  | { method: 'GET'; events?: readonly EventAction[] }
  | { method: 'POST' | 'PUT' | 'PATCH' | 'DELETE'; events: readonly EventAction[] };

/** An operation without its type parameters: what the surfaces mount. */
export type Operation = OperationSpec<Level, TSchema, TSchema, TSchema> & Authorization & Recording;

export function operation<
  const L extends Level,
  P extends TSchema = TSchema,
  Q extends TSchema = TSchema,
  B extends TSchema = TSchema,
>(spec: OperationSpec<L, P, Q, B> & Authorization & Recording): Operation {
  return spec as unknown as Operation;
}

/** What a handler returns to answer with another status than the operation's first. */
export class Answer {
  constructor(
    readonly status: number,
    readonly body: unknown,
    readonly headers: Record<string, string> = {},
  ) {}
}

/**
 * The answers for these error codes, by status. Each names its codes, from which the document makes descriptions and
 * examples.
 */
export function errors(...codes: ErrorCode[]): Record<number, TSchema> {
  return Object.fromEntries(
    [...groupBy(codes, httpStatusOf)].map(([status, group]) => [status, { ...ErrorEnvelope, 'x-error-codes': group }]),
  );
}

/** The codes that answers were declared with. */
export const codesOf = (answers: Record<number, TSchema>): ErrorCode[] =>
  Object.values(answers).flatMap((answer) => (answer as { 'x-error-codes'?: ErrorCode[] })['x-error-codes'] ?? []);
