import { reasonOf } from '../../../src/core/errors.ts'
import { type ReplyPiece, SendPostponed } from '../../../src/core/transport.ts'
import { defined } from '../../../src/lib/defined.ts'
import { pause } from '../../../src/lib/pause.ts'
import { createTokenBucket } from '../../../src/lib/token-bucket.ts'
import { CALL_TIMEOUT, slackFailure } from '../api.ts'
import { type Target, targetOf } from '../conversation.ts'
import type { SlackDeps } from '../host.ts'
import type { Workspaces } from '../workspaces/workspaces.ts'
import { addBlock } from './fit-blocks.ts'
import type { Sending } from './posts.ts'
import { feedbackBlock } from './slack-fields.ts'
import { findShown, finish, type Shown, showText } from './stream-post.ts'
import { createStreamRecords, type StreamRecords } from './stream-records.ts'

/** Interval (ms) of updates, also before the first one. */
const EVERY = 1000
/** Slack allows about 50 updates a minute per workspace; some are reserved for complete replies. */
const UPDATES = { count: 40, per: 60_000 }
/** Longer than two Slack calls; how long (ms) a killed daemon can delay the reply. */
const LONGEST = 2 * CALL_TIMEOUT + 5000
/** Interval (ms) at which a reply checks whether its post is still being updated. */
const SOON = 500

/** Local state of a stream. `said`: text already in a native Slack stream, to which updates are appended. */
type Stream = { newest?: ReplyPiece; writing?: Promise<void>; said?: string; isOver?: boolean }

/**
 * Shows replies while they are written, as a growing post that the complete reply replaces. Uses a native stream
 * (https://docs.slack.dev/reference/methods/chat.startStream) if Slack accepts it, else edits the post.
 */
export function createStreams(deps: SlackDeps, workspaces: Workspaces, closing: AbortSignal) {
  const { gateway, now, log, router } = deps
  const streams = new Map<string, Stream>()
  const records = createStreamRecords(deps)
  const write = createWriter(records, workspaces, now)

  /** Shows the newest piece once a second until the end. */
  const run = async (id: string, target: Target, stream: Stream): Promise<void> => {
    try {
      // Recorded first, so that the daemon that sends the complete reply looks for the post.
      await records.keep(id, {}, 0)
      while (!stream.isOver && !closing.aborted) {
        await pause(EVERY, closing)
        const { newest } = stream
        delete stream.newest
        if (!newest || closing.aborted) continue
        stream.writing = write(id, newest.text, target, stream)
        await stream.writing
      }
      const { post: shown, claimedBy } = (await records.read(id)) ?? {}
      // If no reply follows, Slack would show an error for an unfinished stream.
      if (claimedBy === undefined) await finish(shown, await workspaces.find(target.team))
    } catch (error) {
      log.debug({ messageId: id, reason: reasonOf(error) }, 'a partial reply could not be shown')
    }
    streams.delete(id)
  }

  const asksForFeedback = () =>
    router.routes().some(({ match }) => [match.action].flat().includes('feedback'))

  return {
    /** Takes the current text and shows it at the next update. Never throws. */
    show(piece: ReplyPiece): void {
      const id = piece.inReplyTo
      const known = streams.get(id)
      if (known) known.newest = piece
      const target = targetOf({ ...piece, key: id, gateway }, undefined)
      // Ephemeral posts cannot be changed.
      if (known || !target || target.responseUrl !== undefined) return
      const stream = { newest: piece }
      streams.set(id, stream)
      void run(id, target, stream)
    },
    /** Ends the stream of the reply to a message. */
    end(id: string): void {
      Object.assign(streams.get(id) ?? {}, { isOver: true })
    },
    /**
     * Ends the stream of the answered message. Returns its post if this reply is the one to replace
     * it: the first one, also when it is sent again. Throws `SendPostponed` while another daemon is
     * updating that post.
     */
    async claim(sending: Sending): Promise<Shown | undefined> {
      const { reply, posts, workspace } = sending
      const { inReplyTo: id, key } = reply
      if (id === undefined) return undefined
      const stream = streams.get(id)
      delete stream?.newest
      await stream?.writing?.catch(() => undefined)
      const record = await records.read(id)
      if (!record || (record.claimedBy ?? key) !== key) return undefined
      const { post, busyUntil, version } = record
      if (asksForFeedback() && posts.length > 0) addBlock(posts, feedbackBlock(id))
      if (busyUntil !== undefined && busyUntil > now()) throw new SendPostponed(SOON)
      // The response was lost, with the start of the stream or with the daemon.
      const isLost = !post && busyUntil !== undefined
      const shown = isLost ? await findShown(id, sending) : post
      // Also if nothing was shown yet, as another daemon may be about to.
      const kept = await records.keep(id, defined({ claimedBy: key, post: shown }), version)
      if (kept === undefined) throw new SendPostponed(SOON)
      await finish(shown, workspace)
      return shown
    },
  }
}

/** Shows the text of a stream at the rate that Slack allows, and records the post. */
function createWriter({ read, keep }: StreamRecords, workspaces: Workspaces, now: () => number) {
  const nextUpdate = createTokenBucket(UPDATES, now)

  return async (id: string, text: string, target: Target, stream: Stream): Promise<void> => {
    const workspace = await workspaces.find(target.team)
    const record = await read(id)
    if (!workspace || !record || record.claimedBy !== undefined) return
    const { post: shown, busyUntil, version } = record
    // Skipped while rate-limited or busy, as the next piece contains everything.
    if (busyUntil !== undefined || (shown && nextUpdate() > 0)) return
    const before = defined({ post: shown })
    if ((await keep(id, { ...before, busyUntil: now() + LONGEST }, version)) === undefined) return
    try {
      await keep(id, { post: await showText(id, text, { workspace, target }, stream, shown) })
    } catch (error) {
      // A stream that may exist is not started again.
      await keep(id, shown || slackFailure(error).kind !== 'unknown' ? before : { busyUntil: 0 })
      throw error
    }
  }
}
