import { Column, Entity, PrimaryColumn } from 'typeorm';

/** An RS256 key pair. It is published before it signs, and stays so until the last token that it signed has expired. */
@Entity('signing_keys')
export class SigningKey {
  @PrimaryColumn('text') kid!: string;
  @Column('jsonb') publicJwk!: object;
  @Column('text') privateKeySealed!: string;
  @Column('timestamptz') createdAt!: Date;
  @Column('timestamptz') signsFrom!: Date;
  @Column('timestamptz') signsUntil!: Date;
  @Column('timestamptz') publishedUntil!: Date;
}
