import type { AnyChunk } from '@slack/web-api'
import { z } from 'zod'
import { reasonOf } from '../../../src/core/errors.ts'
import { type ReplyPiece, SendPostponed } from '../../../src/core/transport.ts'
import { defined } from '../../../src/lib/defined.ts'
import { pause } from '../../../src/lib/pause.ts'
import { createTokenBucket } from '../../../src/lib/token-bucket.ts'
import { CALL_TIMEOUT, ifRefused, slackFailure } from '../api.ts'
import { type Target, targetOf } from '../conversation.ts'
import type { SlackDeps } from '../host.ts'
import type { Workspace, Workspaces } from '../workspaces.ts'
import { feedbackBlock, markdownPosts, STOP } from './extras.ts'
import { findPosts, marked } from './find-posts.ts'
import { addBlock } from './fit-blocks.ts'
import type { Sending } from './posts.ts'
import { LIMIT, quietMarkdown } from './words.ts'

/** Interval (ms) of updates, also before the first one. */
const EVERY = 1000
/** Slack allows about 50 updates a minute per workspace; some are reserved for complete replies. */
const UPDATES = { count: 40, per: 60_000 }
/** How long (ms) streams are remembered. */
const KEPT = 3_600_000
/** Longer than two Slack calls; how long (ms) a killed daemon can delay the reply. */
const LONGEST = 2 * CALL_TIMEOUT + 5000
/** Interval (ms) at which a reply checks whether its post is still being updated. */
const SOON = 500

/** `isOpen`: a native Slack stream, which must be stopped before other changes. */
const shownSchema = z.object({ channel: z.string(), ts: z.string(), isOpen: z.boolean().exactOptional() })

/** Shared record of a stream, as another daemon may send the complete reply. */
const recordSchema = z.object({
  post: shownSchema.exactOptional(),
  /** Until when (Unix ms) a daemon may be updating it. In the past without a post: a post may exist whose answer was lost. */
  busyUntil: z.number().exactOptional(),
  /** Key of the replacing reply. */
  claimedBy: z.string().exactOptional(),
})

type Shown = z.infer<typeof shownSchema>
type Place = Pick<Sending, 'workspace' | 'target'>

/** Local state of a stream. `said`: text already in a native Slack stream, to which updates are appended. */
type Stream = { newest?: ReplyPiece; writing?: Promise<void>; said?: string; isOver?: boolean }

/**
 * Shows replies while they are written, as a growing post that the complete reply replaces. Uses a native stream
 * (https://docs.slack.dev/reference/methods/chat.startStream) if Slack accepts it, else edits the post.
 */
export function createStreams(deps: SlackDeps, workspaces: Workspaces, closing: AbortSignal) {
  const { gateway, kv, now, log, router } = deps
  const streams = new Map<string, Stream>()
  const nextUpdate = createTokenBucket(UPDATES, now)
  const nameOf = (id: string) => `slack/${gateway}/stream/${id}`
  const keep = (id: string, record: z.infer<typeof recordSchema>, ifVersion?: number) =>
    kv.set(nameOf(id), record, defined({ ttl: KEPT, ifVersion }))

  const read = async (id: string) => {
    const entry = await kv.get(nameOf(id))
    return entry && { ...recordSchema.parse(entry.value), version: entry.version }
  }

  /** Shows the newest piece once a second until the end. */
  async function run(id: string, target: Target, stream: Stream): Promise<void> {
    try {
      // Recorded first, so that the daemon that sends the complete reply looks for the post.
      await keep(id, {}, 0)
      while (!stream.isOver && !closing.aborted) {
        await pause(EVERY, closing)
        const { newest } = stream
        delete stream.newest
        if (!newest || closing.aborted) continue
        stream.writing = write(id, newest.text, target, stream)
        await stream.writing
      }
      const { post: shown, claimedBy } = (await read(id)) ?? {}
      // If no reply follows, Slack would show an error for an unfinished stream.
      if (claimedBy === undefined) await finish(shown, await workspaces.find(target.team))
    } catch (error) {
      log.debug({ messageId: id, reason: reasonOf(error) }, 'a reply was not shown while it is written')
    }
    streams.delete(id)
  }

  async function write(id: string, text: string, target: Target, stream: Stream): Promise<void> {
    const workspace = await workspaces.find(target.team)
    const record = await read(id)
    if (!workspace || !record || record.claimedBy !== undefined) return
    const { post: shown, busyUntil, version } = record
    // Skipped while rate-limited or busy, as the next piece contains everything.
    if (busyUntil !== undefined || (shown && nextUpdate() > 0)) return
    const before = defined({ post: shown })
    if ((await keep(id, { ...before, busyUntil: now() + LONGEST }, version)) === undefined) return
    try {
      await keep(id, { post: await put(id, text, { workspace, target }, stream, shown) })
    } catch (error) {
      // A stream that may exist is not started again.
      await keep(id, shown || slackFailure(error).kind !== 'unknown' ? before : { busyUntil: 0 })
      throw error
    }
  }

  /** Shows the current text: appends to a native stream if possible, else edits the post. */
  async function put(id: string, text: string, place: Place, stream: Stream, shown?: Shown): Promise<Shown> {
    const { workspace, target } = place
    const { team, channel, thread, user } = target
    const { chat } = workspace.api
    const part = quietMarkdown(text)
    const said = shown ? stream.said : ''
    delete stream.said
    // A retry may have produced a different text, and a mention may be complete only now.
    if (thread && user && said !== undefined && part.startsWith(said) && part.length <= LIMIT) {
      const more: AnyChunk = { type: 'markdown_text', text: part.slice(said.length) }
      const all: AnyChunk[] = workspace.isAgent ? [more] : [{ type: 'blocks', blocks: [STOP] }, more]
      const whom = { recipient_user_id: user, recipient_team_id: team }
      const call = shown
        ? chat.appendStream({ channel, ts: shown.ts, chunks: [more] })
        : chat.startStream({ channel, thread_ts: thread, ...whom, chunks: all })
      const { ts } = (await call.catch(ifRefused)) ?? {}
      if (ts) {
        stream.said = part
        return { channel, ts, isOpen: true }
      }
    }
    const [first = { text: '', blocks: [] }] = markdownPosts(`${text} …`)
    if (!workspace.isAgent) first.blocks.push(STOP)
    await finish(shown, workspace)
    const metadata = marked({ key: `stream:${id}`, part: 0 })
    const there = shown
      ? await chat.update({ channel: shown.channel, ts: shown.ts, ...first })
      : await chat.postMessage({ channel, ...first, ...defined({ thread_ts: thread }), metadata })
    return { channel: there.channel ?? channel, ts: there.ts ?? '' }
  }

  /** Ends a native stream, unless Slack already ended it. */
  async function finish(shown: Shown | undefined, workspace: Workspace | undefined): Promise<void> {
    if (!shown?.isOpen) return
    await workspace?.api.chat.stopStream({ channel: shown.channel, ts: shown.ts }).catch(ifRefused)
  }

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
     * Ends the stream of the message that this reply answers, and gives its post where this reply is the one to replace
     * it: the first that comes, and the same one when it comes again. Throws `SendPostponed` while another daemon is
     * changing that post.
     */
    async claim({ reply, posts, workspace, target }: Sending): Promise<Shown | undefined> {
      const { inReplyTo: id, key } = reply
      if (id === undefined) return undefined
      const stream = streams.get(id)
      delete stream?.newest
      await stream?.writing?.catch(() => undefined)
      const record = await read(id)
      if (!record || (record.claimedBy ?? key) !== key) return undefined
      const { post: known, busyUntil, version } = record
      const isAsked = router.routes().some(({ match }) => [match.action].flat().includes('feedback'))
      if (isAsked && posts.length > 0) addBlock(posts, feedbackBlock(id))
      if (busyUntil !== undefined && busyUntil > now()) throw new SendPostponed(SOON)
      // Its answer was lost, with the beginning or with the daemon.
      const isLost = !known && busyUntil !== undefined
      const lost = isLost ? await findPosts(`stream:${id}`, workspace, target) : undefined
      const [ts] = lost?.posts.values() ?? []
      const { channel } = target
      const begun = lost?.stream ? { channel, ts: lost.stream, isOpen: true } : known
      const shown: Shown | undefined = ts === undefined ? begun : { channel, ts }
      // Also where nothing was shown yet: another daemon may be about to.
      const kept = await keep(id, defined({ claimedBy: key, post: shown }), version)
      if (kept === undefined) throw new SendPostponed(SOON)
      await finish(shown, workspace)
      return shown
    },
  }
}
