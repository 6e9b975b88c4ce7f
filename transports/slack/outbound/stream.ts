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

/** What is written within the first moment need not be shown. */
const EVERY = 1000
/** Slack takes about 50 updates a minute and workspace; some are for the whole replies. */
const UPDATES = { count: 40, per: 60_000 }
/** For so long is known that a reply is shown while it is written. */
const KEPT = 3_600_000
/** Longer than two calls of Slack take: so long a daemon that was killed holds up the reply. */
const LONGEST = 2 * CALL_TIMEOUT + 5000
/** After so long a reply looks again whether its post is still being changed. */
const SOON = 500

/** `isOpen`: it is a stream of Slack's own, which takes no change before it is stopped. */
const shownSchema = z.object({ channel: z.string(), ts: z.string(), isOpen: z.boolean().exactOptional() })

/** What all daemons know of a stream: the whole reply may be sent by another one. */
const recordSchema = z.object({
  post: shownSchema.exactOptional(),
  /** Until when (Unix ms) a daemon may be changing it. Past, and no post: there may be one whose answer was lost. */
  busyUntil: z.number().exactOptional(),
  /** The key of the reply that replaces it. */
  claimedBy: z.string().exactOptional(),
})

type Shown = z.infer<typeof shownSchema>
type Place = Pick<Sending, 'workspace' | 'target'>

/** What this daemon has still to show, and what it is showing. `said`: what a stream of Slack's own has of it, to append to. */
type Stream = { newest?: ReplyPiece; writing?: Promise<void>; said?: string; isOver?: boolean }

/**
 * Replies shown while they are being written: one post that grows, and that the whole reply then replaces. It is a stream of
 * Slack's own (https://docs.slack.dev/reference/methods/chat.startStream) where Slack takes it, and is edited otherwise.
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

  /** Shows the newest piece once a second, until all is written. */
  async function run(id: string, target: Target, stream: Stream): Promise<void> {
    try {
      // Told first: whichever daemon sends the whole reply then looks for its beginning.
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
      // No reply may follow, and Slack would say that something went wrong.
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
    // Without a turn it is left out: the next piece says all of it again.
    if (busyUntil !== undefined || (shown && nextUpdate() > 0)) return
    const before = defined({ post: shown })
    if ((await keep(id, { ...before, busyUntil: now() + LONGEST }, version)) === undefined) return
    try {
      await keep(id, { post: await put(id, text, { workspace, target }, stream, shown) })
    } catch (error) {
      // One that may be there is not begun again.
      await keep(id, shown || slackFailure(error).kind !== 'unknown' ? before : { busyUntil: 0 })
      throw error
    }
  }

  /** Shows all there is: in a stream of Slack's own while Slack takes more of it, else in a post that is edited. */
  async function put(id: string, text: string, place: Place, stream: Stream, shown?: Shown): Promise<Shown> {
    const { workspace, target } = place
    const { team, channel, thread, user } = target
    const { chat } = workspace.api
    const part = quietMarkdown(text)
    const said = shown ? stream.said : ''
    delete stream.said
    // Another attempt may have said something else, and what calls somebody may be complete only now.
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

  /** Ends a stream of Slack's own, where Slack has not ended it already. */
  async function finish(shown: Shown | undefined, workspace: Workspace | undefined): Promise<void> {
    if (!shown?.isOpen) return
    await workspace?.api.chat.stopStream({ channel: shown.channel, ts: shown.ts }).catch(ifRefused)
  }

  return {
    /** Takes what there is so far; shows it when it is time. Never throws. */
    show(piece: ReplyPiece): void {
      const id = piece.inReplyTo
      const known = streams.get(id)
      if (known) known.newest = piece
      const target = targetOf({ ...piece, key: id, gateway }, undefined)
      // What only one person sees cannot be changed.
      if (known || !target || target.responseUrl !== undefined) return
      const stream = { newest: piece }
      streams.set(id, stream)
      void run(id, target, stream)
    },
    /** No more is written of the reply to a message. */
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
