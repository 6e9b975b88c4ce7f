import { type JsonObject, objectsIn } from '../../src/core/json.ts'
import type { ReplyLog } from '../../src/core/transport.ts'
import { createLoop } from '../../src/lib/loop.ts'

type FollowerOptions = {
  replies: ReplyLog
  conversation: string
  /** Follows from the reply after this one. */
  after: number
  /** The newest reply there was at the beginning; what is not there up to it was removed. */
  end: number
  /** Resolves when the reader has room for the next. */
  write(frame: JsonObject): Promise<void>
  /** Called where the log cannot be read; nothing is lost, and it is tried again. */
  failed(error: unknown): void
}

const PAGE = 64
/** When to look again after the log could not be read (ms). */
const RETRY = 1_000

/**
 * Writes the replies of a conversation after a position, in order, each once, as they come. The log is the
 * truth: signals only say when to look, so one that is late, doubled or lost in a reconnect does no harm.
 */
export function followReplies(options: FollowerOptions) {
  const { replies, conversation } = options
  let position = options.after
  let stopped = false

  /** Tells whether there may be more. */
  const writePage = async () => {
    const entries = await replies.read(conversation, position, PAGE)
    for (const { seq, data } of entries) {
      await tellGap(seq - 1)
      if (stopped) return false
      await options.write({ ...shown(data), type: 'message', seq })
      position = seq
    }
    if (entries.length === 0) await tellGap(options.end)
    return entries.length > 0
  }
  /** Retention removes the oldest first: while one that was read is there, the numbers have only leapt. */
  const tellGap = async (seq: number) => {
    if (seq <= position) return
    const [oldest] = await replies.read(conversation, 0, 1)
    const isGone = !oldest || oldest.seq > position
    if (isGone && !stopped) await options.write({ type: 'gap', missed: seq - position, seq })
    position = seq
  }
  const following = createLoop({
    step: async () => ((await writePage()) ? 'again' : undefined),
    failed: options.failed,
    pause: RETRY,
  })
  const unsubscribe = replies.onAppend(conversation, following.wake)
  following.start()

  return {
    stop() {
      stopped = true
      unsubscribe()
      void following.stop()
    },
  }
}

/** Where a file lies is nothing for the other end. */
function shown({ attachments, ...said }: JsonObject): JsonObject {
  if (!Array.isArray(attachments)) return said
  return {
    ...said,
    attachments: objectsIn(attachments).map(({ path: _path, sha256: _sha256, ...file }) => file),
  }
}
