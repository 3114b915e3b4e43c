import type { Static, TSchema } from 'typebox';
import type { Permission } from '../../domain/access/roles/permissions.js';
import type { Caller } from '../../domain/caller.js';
import type { Capability } from '../../domain/capabilities/administrator-roles.js';
import type { DomainError, ErrorCode } from '../../domain/errors.js';
import type { EventAction } from '../../domain/events/catalogue.js';
import { groupBy } from '../../platform/group-by.js';
import type { AccountScope, ApplicationScope, EnvironmentScope } from '../../platform/scope.js';
import type { Services } from '../../services.js';
import { httpStatusOf } from '../error-statuses.js';
import { ErrorEnvelope } from '../errors.js';

/** The level to which an operation's resource belongs; decides which slugs its Portal path has. */
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
 * The one declaration of an operation. Validation, types, authorization and documentation come from it, and each
 * surface that offers the operation mounts it (architecture, "Operations are declared once").
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
  /** The limit of the body in bytes, if it is more than `usualLimit`. */
  bodyLimit?: number;
  /**
   * A property of the body whose elements are handled one by one: an invalid element does not have the whole request
   * refused, but is reported to the handler (`refusals`).
   */
  eachAlone?: string;
  /** First the status and schema of success, then `errors(…)`. */
  answers: Record<number, TSchema>;
  /** `required`: the caller must send the version that it read. */
  ifMatch?: 'required';
  /**
   * A role that applies only in a part of the tree is enough. If the permission is checked `at` a node, so is the
   * capability; otherwise the handler keeps to the nodes that the caller reaches.
   */
  inPart?: true;
  /** Also shows nodes that only lead to a part that the caller reaches; the handler marks them. Only with `inPart`. */
  onTheWay?: true;
  /**
   * The operation can end the caller's own access to the resource in the path, as when it changes the slug or removes a
   * role of theirs. A retry with the same Idempotency-Key then still gets the first answer. Not for operations whose
   * answer holds a secret.
   */
  retriedWithoutAccess?: true;
  /**
   * Milliseconds that it may take beyond any request's time: as long as a caller may ask it to wait for something.
   * Infinite if the answer is streamed, as fast as the caller reads it.
   */
  waitsMs?: number;
  /**
   * Returns whether the query may keep PostgreSQL busy for long if there is much data. Then the request waits for its
   * turn, so that tokens and decisions need not wait (`services.broadReads`).
   */
  isBroad?(query: Static<Q>): boolean;
  /**
   * Its answer is sent piece by piece and stays in memory until all of it is sent, so the request waits for a turn that
   * lasts as long (`services.heavyAnswers`).
   */
  isHeavy?: true;
  /** Throws the 404 if the resource in the path does not exist; only called if the rest of the request is invalid. */
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
  /** From If-Match; 0 if the operation has none. */
  version: number;
  /** The invalid elements of the body's array, by their index (`eachAlone`). */
  refusals: ReadonlyMap<number, DomainError>;
}

/** A permission at the Environment's root, or one of several at a node. */
export type PermissionRule = Permission | NodePermission;

export interface NodePermission {
  anyOf: readonly Permission[];
  /**
   * The path parameter that names the node, or `root`. Null: it is enough to hold the permission at any node, and the
   * handler keeps to those nodes (`services.rights`); for lists, and operations whose body names the node.
   */
  at: string | null;
  /** The code of the 404 if the node does not exist. */
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

/** One of the permissions at any node; the handler keeps to the nodes where the caller holds it. */
export const somewhere = (...anyOf: Permission[]): NodePermission => ({
  anyOf,
  at: null,
  missing: 'nodes.node_not_found',
});

/** What callers need: a permission, a capability or either. An operation that names neither does not compile. */
export type Authorization =
  | { permission: PermissionRule; capability: Capability | typeof anyMember }
  | { permission: PermissionRule; capability?: undefined }
  | { permission?: undefined; capability: Capability | typeof anyMember };

/**
 * The events that may have been recorded when the operation answers, by itself or by a workflow that it waits for.
 * Every write declares them, even if there are none, and so does a read that records an audit row. Refusals
 * (`auth.access_denied`) need not be named.
 */
export type Recording =
  | { method: 'GET'; events?: readonly EventAction[] }
  | { method: 'POST' | 'PUT' | 'PATCH' | 'DELETE'; events: readonly EventAction[] };

/** An operation without its type parameters: what the surfaces mount. */
export type Operation = OperationSpec<Level, TSchema, TSchema, TSchema> & Authorization & Recording;

/** Declares an operation. Its type parameters only serve to type its handler, so they are dropped here. */
export function operation<
  const L extends Level,
  P extends TSchema = TSchema,
  Q extends TSchema = TSchema,
  B extends TSchema = TSchema,
>(spec: OperationSpec<L, P, Q, B> & Authorization & Recording): Operation {
  return spec as unknown as Operation;
}

/** Returned by a handler to answer with another status than the operation's first. */
export class Answer {
  constructor(
    readonly status: number,
    readonly body: unknown,
    readonly headers: Record<string, string> = {},
  ) {}
}

/**
 * Returns the answers for some error codes, by status. Each names its codes, from which the OpenAPI document gets its
 * descriptions and examples.
 */
export function errors(...codes: ErrorCode[]): Record<number, TSchema> {
  return Object.fromEntries(
    [...groupBy(codes, httpStatusOf)].map(([status, group]) => [status, { ...ErrorEnvelope, 'x-error-codes': group }]),
  );
}

/** Returns the error codes with which answers were declared. */
export const codesOf = (answers: Record<number, TSchema>): ErrorCode[] =>
  Object.values(answers).flatMap((answer) => (answer as { 'x-error-codes'?: ErrorCode[] })['x-error-codes'] ?? []);
