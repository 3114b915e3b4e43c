import type { Static, TSchema } from 'typebox';
import type { Permission } from '../domain/access/permissions.js';
import type { Capability } from '../domain/accounts/administrator-roles.js';
import type { Caller } from '../domain/caller.js';
import type { ErrorCode } from '../domain/errors.js';
import type { AccountScope, ApplicationScope, EnvironmentScope } from '../domain/scope.js';
import type { Services } from '../services.js';
import { ErrorEnvelope, statusOf } from './errors.js';

/** Whose resource an operation works on; says which slugs its Portal path has. */
export type Level = 'account' | 'application' | 'environment';
export interface ScopeAt {
  account: AccountScope;
  application: ApplicationScope;
  environment: EnvironmentScope;
}

/** Membership in the Account is enough. */
export const anyMember = Symbol('any member');

/**
 * One declaration of an operation. It validates, types, authorizes and documents, and is mounted on each surface that
 * offers it (architecture, "Operations are declared once").
 */
export interface OperationSpec<L extends Level, P extends TSchema, Q extends TSchema, B extends TSchema> {
  id: string;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below the surface's prefix, as `/nodes/:id`. */
  path: string;
  summary: string;
  description?: string;
  tag: string;
  level: L;
  params?: P;
  query?: Q;
  body?: B;
  /** The success's status and schema first, then `errors(…)`. */
  answers: Record<number, TSchema>;
  /** `required`: the caller must send the version that it read. */
  ifMatch?: 'required';
  /** Refuses with the 404 of what the path names; asked only when the rest of the request is not valid. */
  exists?(context: Pick<Context<L, P, TSchema, TSchema>, 'services' | 'scope' | 'params'>): Promise<unknown>;
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
}

/** What a surface asks of its callers. An operation that names neither does not compile. */
export type Authorization =
  | { permission: Permission; capability: Capability | typeof anyMember }
  | { permission: Permission; capability?: undefined }
  | { permission?: undefined; capability: Capability | typeof anyMember };

/** An operation with its types settled: what the surfaces mount. */
export type Operation = OperationSpec<Level, TSchema, TSchema, TSchema> & Authorization;

export function operation<
  const L extends Level,
  P extends TSchema = TSchema,
  Q extends TSchema = TSchema,
  B extends TSchema = TSchema,
>(spec: OperationSpec<L, P, Q, B> & Authorization): Operation {
  return spec as unknown as Operation;
}

/** The answers for these refusals, by status, each naming its codes. */
export function errors(...codes: ErrorCode[]): Record<number, TSchema> {
  const byStatus = groupBy(codes);
  return Object.fromEntries(
    [...byStatus].map(([status, group]) => [
      status,
      { ...ErrorEnvelope, description: group.map((code) => `\`${code}\``).join(', ') },
    ]),
  );
}

function groupBy(codes: ErrorCode[]): Map<number, ErrorCode[]> {
  const groups = new Map<number, ErrorCode[]>();
  for (const code of codes) groups.set(statusOf(code), [...(groups.get(statusOf(code)) ?? []), code]);
  return groups;
}
