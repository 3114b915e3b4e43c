import { Type } from 'typebox';
import type { AuditPlace } from '../../domain/audit/conditions.js';
import type { Caller } from '../../domain/caller.js';
import { reachOf } from '../../domain/capabilities/reach.js';
import type { AccountScope } from '../../domain/scope.js';
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
} from '../audit-rows.js';
import { always, paginated } from '../lists.js';
import { Answer, errors, operation } from '../operation.js';
import { Id, listOf } from '../schemas.js';
import { administrator } from './administrator.js';

const common = { tag: 'Audit log', level: 'account', capability: 'audit.view', inPart: true } as const;
const inReach = 'With a role within limits: what happened in the part that it reaches.';
const viewed = 'Reading it is a row of the log itself, `audit.row.viewed`.';

const placeOf = ({ accountId }: AccountScope, caller: Caller, surface: AuditPlace['surface']): AuditPlace => ({
  accountId,
  surface,
  reach: reachOf(administrator(caller).roles, 'audit.view'),
});

export const listAuditLog = operation({
  ...common,
  id: 'listAuditLog',
  method: 'GET',
  path: '/audit-log',
  summary: 'List what happened in the account',
  description: `In all of its environments and in itself. ${inReach}`,
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
  summary: 'Export what happened in the account',
  description: `Every row that is there when it begins. ${inReach} The export is a row of the log itself, \`audit.exported\`.`,
  query: AuditExportQuery,
  events: ['audit.exported'],
  waitsMs: Number.POSITIVE_INFINITY,
  answers: { 200: ExportAnswer, ...errors('validation.failed') },
  async handle({ services, scope, caller, query }) {
    const batches = await services.auditLog.export(placeOf(scope, caller, 'all'), filtersOf(query), query.format);
    const { body, headers } = exported(query.format, batches);
    return new Answer(200, body, headers);
  },
});

export const listIdentityAuditLog = operation({
  ...common,
  id: 'listIdentityAuditLog',
  method: 'GET',
  path: '/audit-log/identities',
  summary: 'List what concerns end users',
  description: `Their sign-ins, factors, roles and profiles. ${inReach}`,
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
  summary: 'Read a row that concerns end users, with what surrounds it',
  description: `Related rows are of the same kind. ${viewed}`,
  params: Type.Object({ id: Id }),
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
  summary: 'Read a row of the audit log, with what surrounds it',
  description: viewed,
  params: Type.Object({ id: Id }),
  events: ['audit.row.viewed'],
  answers: { 200: AuditDetailView, ...errors('audit.row_not_found') },
  handle: async ({ services, scope, caller, params }) =>
    presentDetail(await services.auditLog.view(placeOf(scope, caller, 'all'), params.id)),
});
