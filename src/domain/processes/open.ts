import { type EntityManager, type FindOperator, In, Not } from 'typeorm';
import { AccountIntent } from '../../../entities/account-intent.js';
import { AdministratorInvite } from '../../../entities/administrator-invite.js';
import { Email } from '../../../entities/email.js';
import { EmailChange } from '../../../entities/email-change.js';
import { EnvironmentRemoval } from '../../../entities/environment-removal.js';
import { Erasure } from '../../../entities/erasure.js';
import { IdentityInvite } from '../../../entities/identity-invite.js';
import { MfaGrace } from '../../../entities/mfa-grace.js';
import { PendingRegistration } from '../../../entities/pending-registration.js';
import { RoleAssignment } from '../../../entities/role-assignment.js';
import { RoleAssignmentWindow } from '../../../entities/role-assignment-window.js';
import { SsoDomain } from '../../../entities/sso-domain.js';
import { WebhookDelivery } from '../../../entities/webhook-delivery.js';
import type { Clock } from '../../platform/clock.js';
import { isAwaited } from '../../platform/mail/awaited.js';
import type { ProcessInput, ProcessName } from '../../platform/process-kinds.js';
import { roleWindowInput } from '../access/windows/rows.js';
import { accountIntentInput } from '../account-intents/process.js';
import { administratorInviteInput } from '../administrator-invites/process.js';
import { webhookDeliveryInput } from '../delivery-input.js';
import { emailChangeInput } from '../email-changes/process.js';
import { environmentRemovalInput } from '../environments/removal-process.js';
import { erasureInput } from '../erasures/erasures.js';
import { identityInviteInput } from '../identity-invites/process.js';
import { mfaGraceInput } from '../mfa/grace/rules.js';
import { type Durations, registrationInput } from '../registration/process.js';
import { ssoDomainInput } from '../sso-domains/process.js';

export interface OpenRow<P extends ProcessName> {
  id: string;
  input: ProcessInput<P>;
}

/** Which waiting rows: by id, in order, and old enough for the relay to have started their process. */
export interface Look {
  id: FindOperator<string>;
  since: FindOperator<Date>;
  take: number;
}

/** Finds waiting rows, with the input of their process. It needs an index, in the order of ids. */
export type OpenQuery<P extends ProcessName> = (tx: EntityManager, look: Look) => Promise<OpenRow<P>[]>;

/**
 * Each process waits over rows, and brings the query for them: without it, one that was terminated is never restored.
 */
export type OpenKinds = { [P in ProcessName]: OpenQuery<P> };

/** Not a mail for a request for an Account whose process has not made its link yet: it would have nothing to say. */
const hasItsLink = `not (email.template = 'set-password' and exists (select from account_intents i
  where i.id = email.subject_id and i.status = 'parked' and not exists (select from password_links l where l.id = i.id)))`;

export const openKinds = ({
  reminderAfterMs,
  now,
}: Pick<Durations, 'reminderAfterMs'> & { now: Clock }): OpenKinds => ({
  registrationVerification: async (tx, { id, since, take }) => {
    const where = { status: 'pending' as const, id, createdAt: since };
    const select = { id: true, createdAt: true, expiresAt: true };
    const rows = await tx.find(PendingRegistration, { where, select, take, order });
    return rows.map((row) => ({ id: row.id, input: registrationInput(row, { reminderAfterMs }) }));
  },
  accountIntent: async (tx, { id, since, take }) => {
    const where = { status: In(['parked', 'claimed']), id, createdAt: since };
    const rows = await tx.find(AccountIntent, { where, select: { id: true, expiresAt: true }, take, order });
    return rows.map((row) => ({ id: row.id, input: accountIntentInput(row) }));
  },
  emailChange: async (tx, { id, since, take }) => {
    const where = { status: 'pending' as const, id, createdAt: since };
    const rows = await tx.find(EmailChange, { where, select: { id: true, expiresAt: true }, take, order });
    return rows.map((row) => ({ id: row.id, input: emailChangeInput(row) }));
  },
  inviteExpiry: async (tx, { id, since, take }) => {
    const where = { status: 'pending' as const, id, createdAt: since };
    const administrators = await tx.find(AdministratorInvite, { where, take, order });
    const identities = await tx.find(IdentityInvite, { where, take, order });
    const rows = [
      ...administrators.map((row) => ({ id: row.id, input: administratorInviteInput(row, now()) })),
      ...identities.map((row) => ({ id: row.id, input: identityInviteInput(row, now()) })),
    ];
    // Both come in the order of ids, and the next page begins behind the last one of this page.
    return rows.sort((a, b) => (a.id < b.id ? -1 : 1)).slice(0, take);
  },
  emailDelivery: async (tx, { id, since, take }) => {
    const rows = await tx
      .createQueryBuilder(Email, 'email')
      .where({ status: 'pending', id, createdAt: since })
      .andWhere(hasItsLink)
      .orderBy('email.id')
      .take(take)
      .getMany();
    return rows.map(({ id: emailId, template, subjectId, accountId, environmentId }) => ({
      id: emailId,
      input: { emailId, subjectId, accountId, environmentId, isAwaited: isAwaited(template) },
    }));
  },
  environmentRemoval: async (tx, { id, since, take }) => {
    const rows = await tx.find(EnvironmentRemoval, { where: { status: 'running', id, createdAt: since }, take, order });
    return rows.map((row) => ({ id: row.id, input: environmentRemovalInput(row) }));
  },
  mfaGrace: async (tx, { id, since, take }) => {
    const rows = await tx.find(MfaGrace, { where: { status: 'running', id, startedAt: since }, take, order });
    return rows.map((row) => ({ id: row.id, input: mfaGraceInput(row) }));
  },
  identityErasure: async (tx, { id, since, take }) => {
    const rows = await tx.find(Erasure, { where: { status: 'running', id, createdAt: since }, take, order });
    return rows.map((row) => ({ id: row.id, input: erasureInput(row) }));
  },
  roleAssignmentWindow: async (tx, { id, since, take }) => {
    // In one statement: a page that is short because rows were removed meanwhile would be taken for the last one.
    const windows = tx
      .createQueryBuilder()
      .select('window.id')
      .from(RoleAssignmentWindow, 'window')
      .where({ status: 'running', id, createdAt: since })
      .orderBy('window.id')
      .limit(take);
    const rows = await tx
      .createQueryBuilder(RoleAssignment, 'assignment')
      .where(`assignment.id in (${windows.getQuery()})`)
      .setParameters(windows.getParameters())
      .orderBy('assignment.id')
      .getMany();
    return rows.map((row) => ({ id: row.id, input: roleWindowInput(row) }));
  },
  ssoDomainVerification: async (tx, { id, since, take }) => {
    const where = { status: Not('failed' as const), id, startedAt: since };
    const rows = await tx.find(SsoDomain, { where, take, order });
    return rows.map((row) => ({ id: row.id, input: ssoDomainInput(row) }));
  },
  webhookDelivery: async (tx, { id, since, take }) => {
    const where = { status: 'pending' as const, id, createdAt: since };
    const select = { id: true, webhookId: true, accountId: true, environmentId: true, eventType: true };
    const rows = await tx.find(WebhookDelivery, { where, select, take, order });
    return rows.map((row) => ({ id: row.id, input: webhookDeliveryInput(row) }));
  },
});

const order = { id: 'ASC' } as const;
