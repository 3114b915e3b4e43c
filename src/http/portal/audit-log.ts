import type { AuditPlace } from '../../domain/audit/conditions.js';
import type { Caller } from '../../domain/caller.js';
import { reachOf } from '../../domain/capabilities/reach.js';
import type { AccountScope } from '../../platform/scope.js';
import {
  AuditDetailView,
  AuditExportQuery,
  AuditListQuery,
  AuditRowView,
  ExportAnswer,
  exported,
  filtersOf,
  presentDetail,
  presentRow,
} from '../operations/audit-rows.js';
import { always, paginated } from '../surfaces/lists.js';
import { errors, operation } from '../surfaces/operation.js';
import { ById, listOf } from '../surfaces/schemas.js';
import { adminCallerOf } from './admin-caller.js';

const common = { tag: 'Audit log', level: 'account', capability: 'audit.view', inPart: true } as const;
const inReach = 'Callers whose roles have limits see what happened within them.';
const viewed = 'Reading a row is itself recorded in the log as `audit.row.viewed`.';

const placeOf = ({ accountId }: AccountScope, caller: Caller, surface: AuditPlace['surface']): AuditPlace => ({
  accountId,
  surface,
  reach: reachOf(adminCallerOf(caller).roles, 'audit.view'),
});

export const listAuditLog = operation({
  ...common,
  id: 'listAuditLog',
  method: 'GET',
  path: '/audit-log',
  summary: 'List the audit log of the account',
  description: `Covers the account itself and all its environments. ${inReach}`,
  query: AuditListQuery,
  answers: { 200: listOf(AuditRowView), ...errors('validation.failed') },
  isBroad: always,
  async handle({ services, scope, caller, query: { page, take, order, after, ...query } }) {
    const place = placeOf(scope, caller, 'all');
    return paginated(await services.auditLog.list(place, filtersOf(query), { page, take, order, after }), presentRow);
  },
});

export const exportAuditLog = operation({
  ...common,
  id: 'exportAuditLog',
  method: 'GET',
  path: '/audit-log/export',
  summary: 'Export the audit log of the account',
  description:
    `Contains every row that exists when the export begins. ${inReach} The export itself is recorded in the log as ` +
    '`audit.exported`.',
  query: AuditExportQuery,
  events: ['audit.exported'],
  waitsMs: Number.POSITIVE_INFINITY,
  answers: { 200: ExportAnswer, ...errors('validation.failed') },
  async handle({ services, scope, caller, query }) {
    const place = placeOf(scope, caller, 'all');
    return exported(query.format, await services.auditLog.export(place, filtersOf(query), query.format));
  },
});

export const listIdentityAuditLog = operation({
  ...common,
  id: 'listIdentityAuditLog',
  method: 'GET',
  path: '/audit-log/identities',
  summary: 'List audit log rows that concern end users',
  description: `Covers their sign-ins, factors, roles and profiles. ${inReach}`,
  query: AuditListQuery,
  answers: { 200: listOf(AuditRowView), ...errors('validation.failed') },
  isBroad: always,
  async handle({ services, scope, caller, query: { page, take, order, after, ...query } }) {
    const place = placeOf(scope, caller, 'identities');
    return paginated(await services.auditLog.list(place, filtersOf(query), { page, take, order, after }), presentRow);
  },
});

export const getIdentityAuditRow = operation({
  ...common,
  id: 'getIdentityAuditRow',
  method: 'GET',
  path: '/audit-log/identities/:id',
  summary: 'Get an audit log row that concerns end users, with related rows',
  description: `Related rows are also only those that concern end users. ${viewed}`,
  params: ById,
  events: ['audit.row.viewed'],
  answers: { 200: AuditDetailView, ...errors('audit.row_not_found') },
  handle: async ({ services, scope, caller, params }) =>
    presentDetail(await services.auditLog.view(placeOf(scope, caller, 'identities'), params.id)),
});

export const getAuditRow = operation({
  ...common,
  id: 'getAuditRow',
  method: 'GET',
  path: '/audit-log/:id',
  summary: 'Get a row of the audit log with related rows',
  description: viewed,
  params: ById,
  events: ['audit.row.viewed'],
  answers: { 200: AuditDetailView, ...errors('audit.row_not_found') },
  handle: async ({ services, scope, caller, params }) =>
    presentDetail(await services.auditLog.view(placeOf(scope, caller, 'all'), params.id)),
});
