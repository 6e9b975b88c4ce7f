import { reasonOf } from '../../../src/core/errors.ts'
import type { Reply, ReplyPiece, TransportDeps } from '../../../src/core/transport.ts'
import { targetOf } from '../conversation.ts'
import type { Workspaces } from '../workspaces.ts'
import { updateAll } from './post.ts'
import type { SentLog } from './sent-log.ts'
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
  claim(reply: Reply): Promise<string | undefined>
  close(): void
}

/** Slack takes about 50 updates a minute; and what is written within the first moment needs none. */
const EVERY = 1500
const MAX_STREAMS = 200

type Stream = { piece: ReplyPiece; timer?: NodeJS.Timeout; writing?: Promise<void> }

export function createStreams(
  deps: Pick<TransportDeps, 'gateway' | 'log'>,
  workspaces: Workspaces,
  sent: SentLog,
  every = EVERY,
): Streams {
  const streams = new Map<string, Stream>()

  function writeSoon(id: string, stream: Stream) {
    stream.timer ??= setTimeout(() => {
      stream.writing = write(id, stream).finally(() => {
        delete stream.timer
      })
    }, every)
  }

  async function write(id: string, stream: Stream): Promise<void> {
    const { piece } = stream
    try {
      const key = keyOf(id)
      const { text, ...place } = piece
      const target = targetOf({ ...place, key, text, gateway: deps.gateway }, undefined)
      const workspace = target && workspaces.find(target.team)
      // What only one person sees cannot be changed.
      if (!workspace || target.responseUrl !== undefined) return
      const progress = await sent.read(key)
      // The whole reply may have come by another daemon.
      if (progress.claimedBy !== undefined || streams.get(id) !== stream) return
      const [part = ''] = splitText(toMrkdwn(text))
      const content = { parts: [`${part} …`] }
      await updateAll({ key, content, workspace, target, progress, save: () => sent.write(key, progress) })
    } catch (error) {
      streams.delete(id)
      deps.log.debug(
        { messageId: id, reason: reasonOf(error) },
        'a reply could not be shown while it is written',
      )
    }
  }

  return {
    show(piece) {
      const id = piece.inReplyTo
      const stream = streams.get(id) ?? { piece }
      stream.piece = piece
      if (!streams.has(id) && streams.size >= MAX_STREAMS) return
      streams.set(id, stream)
      writeSoon(id, stream)
    },
    async claim({ inReplyTo: id, key: replyKey }) {
      if (id === undefined) return undefined
      const stream = streams.get(id)
      streams.delete(id)
      clearTimeout(stream?.timer)
      await stream?.writing
      const key = keyOf(id)
      const progress = await sent.read(key)
      if (progress.posted.length === 0) return undefined
      if (progress.claimedBy !== undefined) return progress.claimedBy === replyKey ? key : undefined
      await sent.write(key, { ...progress, claimedBy: replyKey })
      return key
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
