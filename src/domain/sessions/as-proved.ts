/** The parameters that say what a first factor was proved with. */
interface Proved {
  /** Whether it is known when the password was set that was the person's then, and when that was. */
  isTimeKnown: string;
  passwordChangedAt: string;
  /** When the factor was proved, and its `amr`: for a password, where that time is not known. */
  provedAt: string;
  amr: string;
  /** The person's address then; null for a factor that has none. */
  email: string;
}

/** SQL over a row of `identities`: whether no other password was set since this one, by when that was. */
export const samePassword = (changedAt: string): string =>
  `date_trunc('milliseconds', password_changed_at) is not distinct from ${changedAt}::timestamptz`;

/**
 * SQL over a row of `identities`: whether password and address are still those of a first factor. Both are compared with
 * themselves and not with the time of the proof: what is read before a change commits may be proved after it, and the
 * clocks of two processes differ.
 */
export const asProved = ({ isTimeKnown, passwordChangedAt, provedAt, amr, email }: Proved): string =>
  `(case
      when ${isTimeKnown}::boolean then ${samePassword(passwordChangedAt)}
      else password_changed_at is null or password_changed_at <= ${provedAt}::timestamptz or not 'pwd' = any (${amr}::text[])
    end and (${email}::citext is null or email = ${email}::citext))`;
