import {
  CancellationScope,
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  isCancellation,
  patched,
  proxyActivities,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { InviteActivities, InviteKind, InviteRow } from '../activities/invites.js';
import { wholeStep } from './between-steps.js';
import { hasRowRead } from './by-hand.js';
import { rowDecides, rowReminds } from './changes.js';
import type { InviteExpiryInput, InviteTimes } from './inputs.js';
import { shownState } from './shown-state.js';
import { growingPauses } from './waits.js';

export type InviteState = 'waiting' | 'accepted' | 'revoked' | 'expired';

export const accepted = defineSignal('accepted');
export const revoked = defineSignal('revoked');
/** A new link was sent, with another expiry. */
export const resent = defineSignal<[InviteTimes]>('resent');
export const state = defineQuery<InviteState>('state');

const { readInvite, remindOfInvite, expireInvite, cancelInvite } = proxyActivities<InviteActivities>({
  startToCloseTimeout: '10s',
  retry: { initialInterval: '1s', maximumInterval: '30s' },
});

/**
 * Waits with an invite: sends one reminder for each link, and ends when the invite is accepted, expired or revoked. A
 * signal only wakes the workflow up early; if one is lost, the next step reads the same from the row.
 */
export async function inviteExpiry(input: InviteExpiryInput): Promise<InviteState> {
  const { kind, inviteId } = input;
  const which = { kind, inviteId };
  let { expiresAt, reminderAt }: InviteTimes = input;
  let moved = false; // there may be a new deadline
  let isSignalled = false; // a signal came: the row has to be read
  let isNewLink = false; // the row also says when to remind
  let pause = growingPauses();
  const shown = shownState<InviteState>('waiting', (current) => describe(current, which, expiresAt));
  const ended = () => shown.get() !== 'waiting';
  const end = (next: InviteState) => {
    if (!ended()) shown.set(next);
  };
  /** Takes over what the row says, except its reminder: unless there is another link, it may have been sent. */
  const follow = (row: InviteRow) => {
    expiresAt = row.expiresAt;
    shown.refresh();
    if (row.status !== 'pending') end(row.status);
  };

  setHandler(state, shown.get);
  const signalled = (next: InviteState) => {
    if (patched(rowDecides)) moved = isSignalled = true;
    else end(next);
  };
  setHandler(accepted, () => signalled('accepted'), hasRowRead);
  setHandler(revoked, () => signalled('revoked'), hasRowRead);
  setHandler(
    resent,
    (times) => {
      moved = true;
      isSignalled = patched(rowDecides);
      isNewLink = patched(rowReminds);
      // A signal sent by hand may have any argument; an error thrown here would block the workflow for good.
      if (!isNewLink && areTimes(times)) ({ expiresAt, reminderAt } = isSignalled ? { ...times, expiresAt } : times);
      if (!ended()) shown.refresh();
    },
    hasRowRead,
  );

  try {
    follow(await readInvite(which)); // it may have ended, or got another deadline, while no worker ran
    if (reminderAt && Date.parse(reminderAt) <= Date.now()) reminderAt = null;
    while (!ended()) {
      if (workflowInfo().continueAsNewSuggested && !isNewLink) {
        return await wholeStep(() => continueAsNew<typeof inviteExpiry>({ ...input, expiresAt, reminderAt }));
      }
      moved = false;
      if (isSignalled) {
        isSignalled = false;
        const takesReminder = isNewLink;
        isNewLink = false;
        const row = await readInvite(which);
        if (takesReminder) reminderAt = row.reminderAt;
        follow(row);
        continue;
      }
      const reminder = reminderAt && Date.parse(reminderAt) < Date.parse(expiresAt) ? reminderAt : null;
      const left = Date.parse(reminder ?? expiresAt) - Date.now();
      if (await condition(() => ended() || moved, Math.max(1, left))) continue;
      if (reminder) {
        reminderAt = null;
        follow(await remindOfInvite(which));
        continue;
      }
      const row = await expireInvite(which); // the row decides, by a clock that may be behind Temporal's
      follow(moved && row.status !== 'pending' ? await readInvite(which) : row); // sent again while it expired
      if (!ended() && (await condition(() => ended() || moved, pause()))) pause = growingPauses();
    }
  } catch (error) {
    if (!isCancellation(error)) throw error;
    await CancellationScope.nonCancellable(async () => {
      if (!ended()) follow(await cancelInvite(which));
    });
    if (shown.get() === 'revoked') throw error; // otherwise the cancel came too late
  }
  return shown.get();
}

const areTimes = (times: Partial<InviteTimes> | null | undefined): times is InviteTimes =>
  isTime(times?.expiresAt) && (times?.reminderAt === null || isTime(times?.reminderAt));

const isTime = (text: unknown) => typeof text === 'string' && !Number.isNaN(Date.parse(text));

function describe(current: InviteState, { kind, inviteId }: { kind: InviteKind; inviteId: string }, expiresAt: string) {
  const sentences: Record<InviteState, string> = {
    waiting: `Waits to be accepted, until ${expiresAt}. Cancelling revokes the invite.`,
    accepted: 'It was accepted.',
    revoked: 'It was revoked; the reason is in the row.',
    expired: `Nobody accepted it by ${expiresAt}.`,
  };
  return `Invite ${inviteId} (${kind}): ${sentences[current]}`;
}
