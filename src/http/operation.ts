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

/** Whose resource an operation works on; says which slugs its Portal path has. */
export type Level = 'account' | 'application' | 'environment';
export interface ScopeAt {
  account: AccountScope;
  application: ApplicationScope;
  environment: EnvironmentScope;
}

/** Membership in the Account is enough. */
export const anyMember = Symbol('any member');

/** The most bytes that a body may have, as a rule: a mebibyte. */
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
  /** The most bytes that the body may have, where that is more than `usualLimit`. */
  bodyLimit?: number;
  /**
   * An array of the body whose elements stand each for itself: what is wrong with the shape of one does not refuse the request,
   * but is told the handler (`refusals`).
   */
  eachAlone?: string;
  /** The success's status and schema first, then `errors(…)`. */
  answers: Record<number, TSchema>;
  /** `required`: the caller must send the version that it read. */
  ifMatch?: 'required';
  /**
   * A role that counts only in a part of the place is enough. Where the permission is asked `at` a node, so is the capability;
   * otherwise the handler keeps to what the caller reaches there.
   */
  inPart?: true;
  /** What only leads to a part that the caller reaches is shown too: the handler says what of it. With `inPart`. */
  onTheWay?: true;
  /**
   * Afterwards the caller may be without access to what the path names: its slug is gone, or a role of theirs. A retry with
   * the same Idempotency-Key gets the first answer all the same. Never where the answer holds a secret.
   */
  retriedWithoutAccess?: true;
  /**
   * Milliseconds that it may take more than any request: those that a caller may ask it to wait for something to happen; infinite
   * where the answer goes out piece by piece, as fast as it is read.
   */
  waitsMs?: number;
  /**
   * Whether PostgreSQL may be busy with it for long, by how much there is: then it waits for its turn, so that tokens and decisions
   * need not (`services.broadReads`).
   */
  isBroad?(query: Static<Q>): boolean;
  /** Its answer goes out piece by piece, and is in memory until then: it waits for a turn that lasts as long (`services.heavyAnswers`). */
  isHeavy?: true;
  /** Refuses with the 404 of what the path names; asked only when the rest of the request is not valid. */
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
  /** By their index, the elements of the body's array that are not what the schema says (`eachAlone`). */
  refusals: ReadonlyMap<number, DomainError>;
}

/** A permission at the Environment's root, or one of several at a node. */
export type PermissionRule = Permission | NodePermission;

export interface NodePermission {
  anyOf: readonly Permission[];
  /**
   * Which parameter of the path names the node, or `root`. Null: it is enough to hold it somewhere, and the handler keeps to where that
   * is (`services.rights`): lists, and operations whose body names the node.
   */
  at: string | null;
  /** The 404 of a node that is not there. */
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

/** What a surface asks of its callers. An operation that names neither does not compile. */
export type Authorization =
  | { permission: PermissionRule; capability: Capability | typeof anyMember }
  | { permission: PermissionRule; capability?: undefined }
  | { permission?: undefined; capability: Capability | typeof anyMember };

/**
 * What it may have recorded when it answers, itself or by a workflow that it waits for. Whatever may write says so, be it that
 * it records nothing; a read that is worth a row, too. Refusals (`auth.access_denied`) need not be named.
 */
export type Recording =
  | { method: 'GET'; events?: readonly EventAction[] }
  | { method: 'POST' | 'PUT' | 'PATCH' | 'DELETE'; events: readonly EventAction[] };

/** An operation with its types settled: what the surfaces mount. */
export type Operation = OperationSpec<Level, TSchema, TSchema, TSchema> & Authorization & Recording;

export function operation<
  const L extends Level,
  P extends TSchema = TSchema,
  Q extends TSchema = TSchema,
  B extends TSchema = TSchema,
>(spec: OperationSpec<L, P, Q, B> & Authorization & Recording): Operation {
  return spec as unknown as Operation;
}

/** What a handler returns where another than the operation's first status is due. */
export class Answer {
  constructor(
    readonly status: number,
    readonly body: unknown,
    readonly headers: Record<string, string> = {},
  ) {}
}

/** The answers for these refusals, by status, each naming its codes: the document makes words and examples of them. */
export function errors(...codes: ErrorCode[]): Record<number, TSchema> {
  return Object.fromEntries(
    [...groupBy(codes, httpStatusOf)].map(([status, group]) => [status, { ...ErrorEnvelope, 'x-error-codes': group }]),
  );
}

/** The codes that answers were declared with. */
export const codesOf = (answers: Record<number, TSchema>): ErrorCode[] =>
  Object.values(answers).flatMap((answer) => (answer as { 'x-error-codes'?: ErrorCode[] })['x-error-codes'] ?? []);
