import { reasonOf } from '../../../src/core/errors.ts'
import { type ReplyPiece, SendPostponed } from '../../../src/core/transport.ts'
import { MINUTE } from '../../../src/core/units.ts'
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
import { findStreamPost, finish, type StreamPost, showText } from './stream-post.ts'
import { createStreamRecords, type StreamRecords } from './stream-records.ts'

/** Interval of updates, also before the first one. */
const UPDATE_MS = 1_000
/** Slack allows about 50 updates a minute per workspace; some are reserved for complete replies. */
const UPDATES = { count: 40, per: MINUTE }
/**
 * Maximum time of an update, which makes two calls. If a daemon is killed during one,
 * the reply waits up to this long.
 */
const MAX_UPDATE_MS = 2 * CALL_TIMEOUT + 5_000
/** Delay before a reply is retried whose post is being updated. */
const RETRY_MS = 500

/** The state of a stream on this daemon. `streamed`: as in `stream-post.ts`. */
type Stream = { newest?: ReplyPiece; writing?: Promise<void>; streamed?: string; isOver?: boolean }

/**
 * Shows replies while they are written, as a growing post that the complete reply replaces. Uses a
 * native stream (https://docs.slack.dev/reference/methods/chat.startStream) if Slack accepts it,
 * else edits the post.
 */
export function createStreams(deps: SlackDeps, workspaces: Workspaces, closing: AbortSignal) {
  const { gateway, now, log, listeners } = deps
  const streams = new Map<string, Stream>()
  const records = createStreamRecords(deps)
  const write = createWriter(records, workspaces, now)

  /** Shows the newest piece once a second until the end. */
  const run = async (id: string, target: Target, stream: Stream): Promise<void> => {
    try {
      // Recorded first, so that the daemon that sends the complete reply looks for the post.
      await records.keep(id, {}, { version: 0 })
      while (!stream.isOver && !closing.aborted) {
        await pause(UPDATE_MS, closing)
        const { newest } = stream
        delete stream.newest
        if (!newest || closing.aborted) continue
        stream.writing = write(id, newest.text, target, stream)
        await stream.writing
      }
      const { post, claimedBy } = (await records.read(id)) ?? {}
      // If no reply follows, Slack would show an error for an unfinished stream.
      if (claimedBy === undefined) await finish(post, await workspaces.find(target.team))
    } catch (error) {
      log.debug({ messageId: id, reason: reasonOf(error) }, 'a partial reply could not be shown')
    }
    streams.delete(id)
  }

  const asksForFeedback = () => listeners.takesAction('feedback')

  return {
    /** Sets the current text, which the next update shows. Never throws. */
    show(piece: ReplyPiece): void {
      const id = piece.inReplyTo
      const existing = streams.get(id)
      if (existing) existing.newest = piece
      const target = targetOf({ ...piece, key: id, gateway }, undefined)
      // Ephemeral posts cannot be changed.
      if (existing || !target || target.responseUrl !== undefined) return
      const stream = { newest: piece }
      streams.set(id, stream)
      void run(id, target, stream)
    },
    /** Ends the stream of the reply to a message. */
    end(id: string): void {
      const stream = streams.get(id)
      if (stream) stream.isOver = true
    },
    /**
     * Claims the stream of the answered message, so that no update changes its post any more.
     * Returns its post if this reply is the one to replace it: the first one, also when it is sent
     * again. Throws `SendPostponed` while another daemon is updating that post.
     */
    async claim(sending: Sending): Promise<StreamPost | undefined> {
      const { reply, posts, workspace } = sending
      const { inReplyTo: id, key } = reply
      if (id === undefined) return undefined
      const stream = streams.get(id)
      delete stream?.newest
      await stream?.writing?.catch(() => undefined)
      const record = await records.read(id)
      if (!record || (record.claimedBy ?? key) !== key) return undefined
      const { post: recorded, busyUntil } = record
      if (asksForFeedback() && posts.length > 0) addBlock(posts, feedbackBlock(id))
      if (busyUntil !== undefined && busyUntil > now()) throw new SendPostponed(RETRY_MS)
      // An update began but was not recorded: its answer was lost, or the daemon was killed.
      const mayExist = !recorded && busyUntil !== undefined
      const post = mayExist ? await findStreamPost(id, sending) : recorded
      // Also without a post, because another daemon may be about to create one.
      const newVersion = await records.keep(id, defined({ claimedBy: key, post }), record)
      if (newVersion === undefined) throw new SendPostponed(RETRY_MS)
      await finish(post, workspace)
      return post
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
    const { post, busyUntil, unknown } = record
    // Skipped while rate-limited or busy, because the next piece contains the whole text. Also
    // after `busyUntil` has passed: a post may exist that is not recorded.
    if (busyUntil !== undefined || (post && nextUpdate() > 0)) return
    const before = defined({ post })
    const busyVersion = await keep(id, { ...before, busyUntil: now() + MAX_UPDATE_MS }, record)
    // Another daemon changed the record.
    if (busyVersion === undefined) return
    try {
      const shown = await showText(id, text, { workspace, target }, stream, post)
      await keep(id, { post: shown }, { unknown })
    } catch (error) {
      // A post that may exist is not created again.
      const mayExist = !post && slackFailure(error).kind === 'unknown'
      await keep(id, mayExist ? { busyUntil: 0 } : before, { unknown })
      throw error
    }
  }
}
