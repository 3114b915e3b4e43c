import { errors, operation } from '../surfaces/operation.js';
import { Id, OneOf, Resource, single, Timestamp } from '../surfaces/schemas.js';

export const getSubscription = operation({
  id: 'getSubscription',
  method: 'GET',
  path: '/subscription',
  summary: 'Get the subscription of the account',
  description: 'Every account starts with the Free plan.',
  tag: 'Account',
  level: 'account',
  capability: 'account.view',
  answers: {
    200: single(
      Resource('Subscription', { id: Id, plan: OneOf(['free']), status: OneOf(['active']), created_at: Timestamp }),
    ),
    ...errors('account.not_found'),
  },
  async handle({ services, scope }) {
    const { id, plan, status, createdAt } = await services.accounts.subscription(scope);
    return { data: { id, plan, status, created_at: createdAt } };
  },
});
