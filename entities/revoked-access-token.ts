import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** An access token that was revoked individually (RFC 7009), kept until it would have expired. */
@Entity('revoked_access_tokens')
@Index('revoked_access_tokens_expiry', ['expiresAt'])
export class RevokedAccessToken {
  @PrimaryColumn('uuid') jti!: string;
  @Column('timestamptz') expiresAt!: Date;
}
