/** Where this service is, and where administrators sign in and work: by default, here. */
export interface AdminApp {
  baseUrl: string;
  adminAppUrl?: string;
}

/** Where administrators sign in and work, if that is an application of its own; null: we have no page of ours for it. */
export const adminAppOf = ({ baseUrl, adminAppUrl = baseUrl }: AdminApp): string | null =>
  adminAppUrl === baseUrl ? null : adminAppUrl;
