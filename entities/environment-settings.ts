import { Check, Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { Account } from './account.js';
import { Environment } from './environment.js';

export interface Branding {
  name: string | null;
  logo_url: string | null;
  /** `#rrggbb` */
  primary_color: string | null;
  support_email: string | null;
}

@Entity('environment_settings')
@Check('environment_settings_locale', `default_locale in ('en', 'de')`)
export class EnvironmentSettings {
  @ForeignKey(() => Environment, { name: 'environment_settings_environment_fk', onDelete: 'CASCADE' })
  @PrimaryColumn('uuid')
  environmentId!: string;
  @ForeignKey(() => Account, { name: 'environment_settings_account_fk', onDelete: 'CASCADE' })
  @Column('uuid')
  accountId!: string;
  @Column('integer') version!: number;
  @Column('boolean') passwordLoginEnabled!: boolean;
  @Column('integer') passwordMinLength!: number;
  @Column('jsonb') branding!: Branding;
  @Column('text') defaultLocale!: 'en' | 'de';
  @Column('integer') accessTokenTtlSeconds!: number;
  /** Sliding life of a refresh token. */
  @Column('integer') refreshTokenTtlSeconds!: number;
  /** Life of a grant however often it is refreshed. */
  @Column('integer') refreshTokenMaxTtlSeconds!: number;
  @Column('integer') sessionTtlSeconds!: number;
  /** Origins whose scripts may call the token and userinfo endpoints. */
  @Column('text', { array: true }) allowedOrigins!: string[];
  @Column('timestamptz') updatedAt!: Date;
}
