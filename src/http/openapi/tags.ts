/** What each group of operations is about, in the order of the document. */
export const tags: Record<string, string> = {
  Authorization: 'Whether an identity may do something at a node, and why.',
  AuthZEN: 'The same engine in the words of the OpenID AuthZEN Authorization API 1.0.',
  Identities: 'The end users of an environment: profiles, access, sessions and second factors.',
  'Identity invites': 'Invites of end users: into an environment, or into the directory of an account only.',
  Hierarchy: 'The tree of nodes that roles are assigned at, and the schema of its node types.',
  Organizations: 'Organizations, which are nodes too: who belongs to them, and how their members sign in.',
  Roles: 'Named sets of permissions.',
  Permissions: 'What roles are made of: the permissions of the system, and those of your own resources.',
  'Role assignments': 'Who holds which role at which node, and from when to when.',
  'API keys': 'Credentials of servers.',
  'Audit log': 'What happened, by whom, and how it ended: for people who ask later.',
  'Change feed': 'What happened, in an order that misses nothing: for programs that follow.',
  Webhooks:
    'Receivers that are told what happens, of an environment or of a whole account, and what became of each delivery.',
  'OAuth clients': 'Applications that people sign in to.',
  Account: 'The account itself.',
  Applications: 'The applications of an account.',
  'SSO connections':
    'Identity providers by which administrators, and end users, sign in; those of organizations are with them, too.',
  'SSO domains': 'Domains that the account claims for its administrators, and proves by DNS.',
  SCIM: 'Provisioning of people and groups by the directories of customers: SCIM 2.0, its tokens, and what groups amount to.',
  Environments: 'The environments of an application, and how people sign in to them.',
  Members: 'The administrators of an account.',
  'Administrator roles': 'Sets of capabilities that administrators hold.',
  'Administrator invites': 'Invites to administer an account.',
  Processes: 'What waits for a person, a clock or a mail server: looked at, stopped, repeated or prolonged.',
  Me: 'The signed-in administrator.',
  'Admin authentication': 'Registration, sign-in and sessions of administrators.',
  'End-user authentication': 'Sign-in of end users by pages of your own.',
  'OAuth 2.0': 'Tokens of OAuth 2.0 and OpenID Connect.',
  'Hosted login':
    'The pages of the hosted sign-in, and of people’s own accounts. A script that sends `Accept: application/json` is told in JSON what a ' +
    'browser would be shown; where one would be sent on (303), that is 200 with `redirect_to`.',
  Discovery: 'Documents by which clients find everything else.',
};
