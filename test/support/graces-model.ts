import { days } from '../../src/platform/clock.js';

export interface Grace {
  status: 'running' | 'expired' | 'enrolled' | 'reset';
  startedAt: number;
  expiresAt: number;
}
interface Enrolling {
  grace: Grace | null;
}

interface Policy {
  isRequired: boolean;
  hasFactor: boolean;
  days: number;
  at: number;
}

/** The time to enroll a first factor, as a reader of the contract (§3, §10) and of decision 0013 would keep it. */
export class Graces {
  /** Until when the person has time, which begins now if it has not; null: there is none. */
  endOf(person: Enrolling, graceDays: number, at: number): number | null {
    return graceDays > 0 ? this.begin(person, graceDays, at) : this.running(person);
  }

  private running = ({ grace }: Enrolling) => (grace && grace.status !== 'reset' ? grace.expiresAt : null);

  private begin(person: Enrolling, graceDays: number, at: number): number {
    const { grace } = person;
    if (!grace || grace.status === 'reset') this.give(person, graceDays, at);
    // A person whose factor was removed continues until their earlier end.
    else if (grace.status === 'enrolled' && grace.expiresAt > at) grace.status = 'running';
    return (person.grace as Grace).expiresAt;
  }

  give(person: Enrolling, graceDays: number, at: number): void {
    person.grace = { status: 'running', startedAt: at, expiresAt: at + days(graceDays) };
  }

  /** A factor was enrolled. */
  enrolled({ grace }: Enrolling): void {
    if (grace && grace.status !== 'reset') grace.status = 'enrolled';
  }

  /** The last factor was removed: where nobody requires one, it is as if there had been no time. */
  removedLast({ grace }: Enrolling, isRequired: boolean): void {
    if (!isRequired && grace?.status === 'enrolled') grace.status = 'reset';
  }

  /** The Environment's policy has changed. */
  policyChanged({ grace }: Enrolling, { isRequired, hasFactor, days: graceDays, at }: Policy): void {
    if (!isRequired && !hasFactor && grace?.status === 'enrolled') grace.status = 'reset';
    if (grace?.status !== 'running' || grace.expiresAt <= at) return;
    if (!isRequired) grace.status = 'reset';
    // Nobody loses more than what is after tomorrow.
    else grace.expiresAt = Math.max(grace.startedAt + days(graceDays), Math.min(grace.expiresAt, at + days(1)));
  }

  /** An administrator has reset the factors. */
  reset(person: Enrolling, isRequiredByPolicy: boolean, graceDays: number, at: number): void {
    if (isRequiredByPolicy && graceDays > 0) this.give(person, graceDays, at);
    else if (person.grace) person.grace.status = 'reset';
  }
}
