import { faultOfTarget, type Guard } from '../../platform/outbound/guard.js';
import { invalidField } from '../errors.js';
import type { EventAction } from '../events/catalogue.js';
import { accountEventTypes, environmentEventTypes } from './event-types.js';
import type { WebhookScope } from './find.js';

/** Returns the event types that a subscription of this scope can name. */
export const eventTypesOf = ({ environmentId }: WebhookScope): readonly EventAction[] =>
  environmentId === undefined ? accountEventTypes : environmentEventTypes;

/** Accepts `*` alone, or types of the scope. @throws DomainError validation.failed naming the first other type */
export function assertEventTypes(scope: WebhookScope, types: readonly string[]): void {
  if (types.length > 1 && types.includes('*'))
    throw invalidField(
      `event_types[${types.indexOf('*')}]`,
      'exclusive',
      '`*` means all types and must be the only one',
    );
  const known = new Set<string>(['*', ...eventTypesOf(scope)]);
  const wrong = types.findIndex((type) => !known.has(type));
  if (wrong >= 0)
    throw invalidField(`event_types[${wrong}]`, 'unsupported', 'is not an event type that can be subscribed to here');
}

/**
 * Checks what can be known of a receiver's URL before it is called. The address of its host is checked at each call.
 * @throws DomainError validation.failed
 */
export function assertReceiver(url: string, guard: Pick<Guard, 'enter'>): void {
  const refuse = (code: string, message: string) => invalidField('url', code, message);
  if (!URL.canParse(url)) throw refuse('url', 'must be an absolute URL');
  const { username, password } = new URL(url);
  if (username || password) throw refuse('credentials', 'must not contain credentials; verify the signature instead');
  if (url.includes('#')) throw refuse('fragment', 'must not have a fragment');
  const fault = faultOfTarget(guard, url);
  if (fault) throw refuse(fault.code, fault.message);
}
