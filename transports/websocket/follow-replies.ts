import { type JsonObject, objectsIn } from '../../src/core/json.ts'
import type { Log } from '../../src/core/log.ts'
import type { TransportDeps } from '../../src/core/transport.ts'
import { createLoop } from '../../src/lib/loop.ts'

/** Replies per read of the log. */
const PAGE_SIZE = 64

/** Where to begin: with the first reply after number `after`. `end`: number of the newest one. */
type StartPosition = { conversation: string; after: number; end: number }

/**
 * Sends the replies of a conversation in order, each once, until the returned function is called.
 * Reads the log; signals of new replies are only hints, so late, repeated or lost ones are
 * harmless.
 */
export function followReplies(
  { conversation, after, end }: StartPosition,
  send: (frame: JsonObject) => Promise<void>,
  replies: TransportDeps['replies'],
  log: Log,
): () => void {
  let position = after

  /**
   * Tells the client about expired replies up to `seq`. Retention removes the oldest first, so if
   * an earlier reply still exists, none has expired and the numbers merely have a gap.
   */
  const reportGap = async (seq: number) => {
    if (seq <= position) return
    const [oldest] = await replies.read(conversation, 0, 1)
    const isGone = !oldest || oldest.seq > position
    if (isGone) await send({ type: 'gap', missed: seq - position, seq })
    position = seq
  }

  const loop = createLoop({
    async step() {
      const entries = await replies.read(conversation, position, PAGE_SIZE)
      for (const { seq, data } of entries) {
        await reportGap(seq - 1)
        await send({ ...withoutPaths(data), type: 'message', seq })
        position = seq
      }
      // Entries missing up to the initial end of the log have expired.
      if (entries.length === 0) await reportGap(end)
      return entries.length > 0 ? 'again' : undefined
    },
    failed: (err) => log.warn({ err }, 'cannot read the replies; trying again'),
  })
  const unsubscribe = replies.onAppend(conversation, loop.wake)
  loop.start()
  return () => {
    unsubscribe()
    void loop.stop()
  }
}

/** Removes the local paths and hashes of attachments. */
function withoutPaths({ attachments, ...reply }: JsonObject): JsonObject {
  if (!Array.isArray(attachments)) return reply
  return {
    ...reply,
    attachments: objectsIn(attachments).map(({ path: _path, sha256: _sha256, ...file }) => file),
  }
}
