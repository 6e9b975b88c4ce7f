import { reasonOf } from '../../../src/core/errors.ts'
import {
  type Reply,
  type ReplyPiece,
  SendPostponed,
  type TransportDeps,
} from '../../../src/core/transport.ts'
import { createTokenBucket, type TokenBucket } from '../../../src/lib/token-bucket.ts'
import { type Target, targetOf } from '../conversation.ts'
import { mayHaveArrived } from '../failure.ts'
import type { SlackOptions } from '../options.ts'
import type { Workspace, Workspaces } from '../workspaces.ts'
import { postAll } from './post.ts'
import { findPosts } from './probe.ts'
import type { Progress, SentLog } from './sent-log.ts'
import { splitText } from './split-text.ts'
import { toMrkdwn } from './to-mrkdwn.ts'

/** Replies shown while they are being written: one post that grows, and that the whole reply then replaces. */
export type Streams = {
  /** Takes what there is so far; shows it when it is time. Never throws. */
  show(piece: ReplyPiece): void
  /**
   * Ends the stream of the message that this reply answers, and gives the key of its post where this reply is the one
   * to replace it: the first that comes, and the same one when it comes again. Throws `SendPostponed` while another
   * daemon is changing that post.
   */
  claim(reply: Reply, workspace: Workspace, target: Target): Promise<string | undefined>
  close(): void
}

/** What is written within the first moment need not be shown. */
const EVERY = 1500
/** Slack takes about 50 updates a minute and workspace; some are for the whole replies. */
const UPDATES = { count: 40, per: 60_000 }
const MAX_STREAMS = 200
/** For so long is known that a reply may be shown while it is written, or that all of it was sent already. */
const ANNOUNCED = 3_600_000
/** After so long a reply looks again whether its post is still being changed. */
const SOON = 500

/**
 * One that waits for its time, or is being written; there is nothing to remember of any other. `announced`: whether
 * other daemons know of it.
 */
type Stream = {
  piece: ReplyPiece
  announced: Promise<boolean>
  timer?: NodeJS.Timeout
  writing?: Promise<void>
}

/**
 * The whole reply may be sent by another daemon, while this one is still showing its beginning. Of a reply that nobody
 * shows there is no record; one that is shown is announced first, and then whoever writes or claims it is alone with it.
 */
export function createStreams(
  options: Pick<SlackOptions, 'send-timeout'>,
  deps: Pick<TransportDeps, 'gateway' | 'log' | 'now' | 'kv'>,
  workspaces: Workspaces,
  sent: SentLog,
  every = EVERY,
): Streams {
  const streams = new Map<string, Stream>()
  /** By team. */
  const updates = new Map<string, TokenBucket>()
  /** Longer than a call of Slack takes, with its repetition: so long a daemon that was killed holds up the reply. */
  const longest = 2 * options['send-timeout'] + 5000

  function writeSoon(id: string, stream: Stream) {
    stream.timer = setTimeout(() => {
      const { piece } = stream
      stream.writing = write(id, stream).finally(() => {
        if (streams.get(id) !== stream) return
        if (stream.piece === piece) streams.delete(id)
        else writeSoon(id, stream)
      })
    }, every)
  }

  async function write(id: string, stream: Stream): Promise<void> {
    try {
      const target = placeOf(stream.piece)
      const workspace = target && workspaces.find(target.team)
      if (!workspace || !(await stream.announced)) return
      await alone(id, async () => {
        const progress = await sent.read(keyOf(id))
        // The whole reply may have come, also by another daemon.
        if (progress.claimedBy !== undefined || streams.get(id) !== stream) return
        await showPiece(stream.piece, progress, workspace, target)
      })
    } catch (error) {
      deps.log.debug(
        { messageId: id, reason: reasonOf(error) },
        'a reply could not be shown while it is written',
      )
    }
  }

  async function showPiece(piece: ReplyPiece, progress: Progress, workspace: Workspace, target: Target) {
    const key = keyOf(piece.inReplyTo)
    const [part = ''] = splitText(toMrkdwn(piece.text))
    const text = `${part} …`
    const [ts] = progress.posted
    if (ts !== undefined) {
      // Without a turn it is left out: the next piece says all of it again.
      if (takeTurn(workspace) > 0) return
      const channel = progress.channel ?? target.channel
      await workspace.api.tryCall('chat.update', (web) => web.chat.update({ channel, ts, text, blocks: [] }))
      return
    }
    // Another daemon may send the whole reply, and must know of this post also where its answer is lost.
    if (progress.unconfirmed) return
    await sent.write(key, { ...progress, unconfirmed: true })
    const { unconfirmed: _, ...rest } = progress
    const save = () => sent.write(key, rest)
    try {
      await postAll({ key, content: { parts: [text] }, workspace, target, progress: rest, save })
    } catch (error) {
      if (!mayHaveArrived(error)) await save()
      throw error
    }
  }

  function takeTurn({ team }: Workspace): number {
    const bucket = updates.get(team) ?? createTokenBucket(UPDATES, deps.now)
    updates.set(team, bucket)
    return bucket()
  }

  /** Undefined: it cannot be shown there, as what only one person sees cannot be changed. */
  function placeOf({ text, ...place }: ReplyPiece): Target | undefined {
    const reply: Reply = { ...place, text, key: keyOf(place.inReplyTo), gateway: deps.gateway }
    const target = targetOf(reply, undefined)
    return target?.responseUrl === undefined ? target : undefined
  }

  async function announce(piece: ReplyPiece): Promise<boolean> {
    if (!placeOf(piece)) return false
    try {
      await sent.announce(keyOf(piece.inReplyTo), ANNOUNCED)
      return true
    } catch (error) {
      deps.log.debug({ reason: reasonOf(error) }, 'a reply will not be shown while it is written')
      return false
    }
  }

  /** Runs while no daemon else does for this message. Undefined: one does. */
  async function alone<T>(id: string, run: () => Promise<T>): Promise<{ value: T } | undefined> {
    const name = `slack/${deps.gateway}/writing/${id}`
    if ((await deps.kv.set(name, true, { ttl: longest, ifVersion: 0 })) === undefined) return undefined
    try {
      return { value: await run() }
    } finally {
      await deps.kv.delete(name)
    }
  }

  async function claimAlone(replyKey: string, key: string, workspace: Workspace, target: Target) {
    const progress = await sent.read(key)
    if (isClaimed(progress, replyKey)) return undefined
    if (progress.unconfirmed) {
      const { posts } = await findPosts(key, [], workspace, target)
      progress.posted = [...posts.values()]
      progress.channel = target.channel
      delete progress.unconfirmed
    }
    const isThere = progress.posted.length > 0
    // Also where nothing was shown yet: another daemon may be about to.
    await sent.write(key, { ...progress, claimedBy: replyKey }, isThere ? undefined : ANNOUNCED)
    return isThere ? key : undefined
  }

  return {
    show(piece) {
      const id = piece.inReplyTo
      const stream = streams.get(id)
      if (stream) stream.piece = piece
      else if (streams.size < MAX_STREAMS) {
        const added = { piece, announced: announce(piece) }
        streams.set(id, added)
        writeSoon(id, added)
      }
    },
    async claim({ inReplyTo: id, key: replyKey }, workspace, target) {
      if (id === undefined) return undefined
      const stream = streams.get(id)
      streams.delete(id)
      clearTimeout(stream?.timer)
      await Promise.all([stream?.announced, stream?.writing])
      const key = keyOf(id)
      const known = await sent.find(key)
      if (!known || isClaimed(known, replyKey)) return undefined
      const claimed = await alone(id, () => claimAlone(replyKey, key, workspace, target))
      if (!claimed) throw new SendPostponed(SOON)
      return claimed.value
    },
    close() {
      for (const { timer } of streams.values()) clearTimeout(timer)
      streams.clear()
    },
  }
}

function isClaimed({ claimedBy }: Progress, replyKey: string): boolean {
  return claimedBy !== undefined && claimedBy !== replyKey
}

function keyOf(messageId: string): string {
  return `stream:${messageId}`
}
