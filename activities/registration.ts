import type { Registrations } from '../src/domain/registration/registrations.js';
import { settled } from './settled.js';

export type { ProvisionedRegistration } from '../src/domain/registration/provision.js';
export type RegistrationActivities = ReturnType<typeof createRegistrationActivities>;

export const createRegistrationActivities = ({ registrations }: { registrations: Registrations }) => ({
  queueVerificationEmail: (id: string) => settled(() => registrations.queueVerificationEmail(id)),
  queueReminderEmail: (id: string) => settled(() => registrations.queueReminderEmail(id)),
  provisionRegistration: (id: string) => settled(() => registrations.provision(id)),
  expireRegistration: (id: string) => settled(() => registrations.expire(id)),
  cancelRegistration: (id: string) => settled(() => registrations.cancel(id, 'cancelled_by_operator')),
});
