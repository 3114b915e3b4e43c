import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';

export type EmailStatus = 'pending' | 'sent' | 'failed' | 'cancelled';

/** A mail to be sent. It holds neither link nor address: the link is derived, and the address looked up, at sending. */
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
  /** The row that it is about, by which the sender looks up address and values. */
  @Column('uuid') subjectId!: string;
  /** The user who receives it, if the subject belongs to several people. */
  @Column('uuid', { nullable: true }) recipientId!: string | null;
  /** The unique cause of the mail, such as `registration/{id}/verification`. */
  @Column('text') cause!: string;
  @Column('text') status!: EmailStatus;
  @Column('text', { nullable: true }) failure!: string | null;
  @Column('timestamptz') createdAt!: Date;
  /** When it was last handed to the mail server; written before that attempt. */
  @Column('timestamptz', { nullable: true }) attemptedAt!: Date | null;
  @Column('timestamptz', { nullable: true }) endedAt!: Date | null;
}
