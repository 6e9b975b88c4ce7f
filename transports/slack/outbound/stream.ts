import { reasonOf } from '../../../src/core/errors.ts'
import type { Reply, ReplyPiece, TransportDeps } from '../../../src/core/transport.ts'
import { createTokenBucket, type TokenBucket } from '../../token-bucket.ts'
import { type Target, targetOf } from '../conversation.ts'
import { mayHaveArrived } from '../failure.ts'
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
   * to replace it: the first that comes, and the same one when it comes again.
   */
  claim(reply: Reply, workspace: Workspace, target: Target): Promise<string | undefined>
  close(): void
}

/** What is written within the first moment need not be shown. */
const EVERY = 1500
/** Slack takes about 50 updates a minute and workspace; some are for the whole replies. */
const UPDATES = { count: 40, per: 60_000 }
const MAX_STREAMS = 200

/** One that waits for its time, or is being written; there is nothing to remember of any other. */
type Stream = { piece: ReplyPiece; timer?: NodeJS.Timeout; writing?: Promise<void> }

export function createStreams(
  deps: Pick<TransportDeps, 'gateway' | 'log' | 'now'>,
  workspaces: Workspaces,
  sent: SentLog,
  every = EVERY,
): Streams {
  const streams = new Map<string, Stream>()
  /** By team. */
  const updates = new Map<string, TokenBucket>()

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
      const target = targetOf(replyOf(stream.piece), undefined)
      const workspace = target && workspaces.find(target.team)
      // What only one person sees cannot be changed.
      if (!workspace || target.responseUrl !== undefined) return
      const progress = await sent.read(keyOf(id))
      // The whole reply may have come, also by another daemon.
      if (progress.claimedBy !== undefined || streams.get(id) !== stream) return
      await showPiece(stream.piece, progress, workspace, target)
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

  function replyOf({ text, ...place }: ReplyPiece): Reply {
    return { ...place, text, key: keyOf(place.inReplyTo), gateway: deps.gateway }
  }

  return {
    show(piece) {
      const id = piece.inReplyTo
      const stream = streams.get(id)
      if (stream) stream.piece = piece
      else if (streams.size < MAX_STREAMS) {
        const added = { piece }
        streams.set(id, added)
        writeSoon(id, added)
      }
    },
    async claim({ inReplyTo: id, key: replyKey }, workspace, target) {
      if (id === undefined) return undefined
      const stream = streams.get(id)
      streams.delete(id)
      clearTimeout(stream?.timer)
      await stream?.writing
      const key = keyOf(id)
      const progress = await sent.read(key)
      if (progress.claimedBy !== undefined && progress.claimedBy !== replyKey) return undefined
      if (progress.unconfirmed) {
        const { posts } = await findPosts(key, [], workspace, target)
        progress.posted = [...posts.values()]
        progress.channel = target.channel
        delete progress.unconfirmed
      }
      // Also where nothing was shown yet: another daemon may be about to.
      await sent.write(key, { ...progress, claimedBy: replyKey })
      return progress.posted.length > 0 ? key : undefined
    },
    close() {
      for (const { timer } of streams.values()) clearTimeout(timer)
      streams.clear()
    },
  }
}

function keyOf(messageId: string): string {
  return `stream:${messageId}`
}
