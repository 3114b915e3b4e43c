import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';

export type EmailStatus = 'pending' | 'sent' | 'failed' | 'cancelled';

/** A mail on its way. It holds no link, which is derived when it is sent, and no address, which is looked up then. */
@Entity('emails')
@Index('emails_cause', ['cause'], { unique: true })
@Index('emails_open', ['id'], { where: `status = 'pending'` })
@Index('emails_account', ['accountId', 'createdAt', 'id'], { where: 'account_id is not null' })
@Index('emails_ended', ['endedAt'], { where: 'ended_at is not null' })
@Index('emails_not_sent', { synchronize: false })
@Check('emails_status', `status in ('pending', 'sent', 'failed', 'cancelled')`)
export class Email {
  @PrimaryColumn('uuid') id!: string;
  @Column('uuid', { nullable: true }) accountId!: string | null;
  @Column('uuid', { nullable: true }) environmentId!: string | null;
  @Column('text') template!: string;
  @Column('text') locale!: 'en' | 'de';
  /** What it is about; the sender looks up address and values by it. */
  @Column('uuid') subjectId!: string;
  /** The user whom it goes to, where the subject tells of several people. */
  @Column('uuid', { nullable: true }) recipientId!: string | null;
  /** One mail for one cause, such as `registration/{id}/verification`. */
  @Column('text') cause!: string;
  @Column('text') status!: EmailStatus;
  @Column('text', { nullable: true }) failure!: string | null;
  @Column('timestamptz') createdAt!: Date;
  /** When it was last given to the mail server; written before. */
  @Column('timestamptz', { nullable: true }) attemptedAt!: Date | null;
  @Column('timestamptz', { nullable: true }) endedAt!: Date | null;
}
