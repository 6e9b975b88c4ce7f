import { type JsonObject, objectsIn } from '../../src/core/json.ts'
import type { Log } from '../../src/core/log.ts'
import type { TransportDeps } from '../../src/core/transport.ts'
import { createLoop } from '../../src/lib/loop.ts'

/** Replies per read of the log. */
const PAGE = 64

/** The replies after `after`; `end` is the current newest one. */
type From = { conversation: string; after: number; end: number }

/**
 * Sends the replies of a conversation in order, each once, until the returned function is called.
 * Reads the log; signals are only hints, so late, repeated or lost ones are harmless.
 */
export function followReplies(
  { conversation, after, end }: From,
  send: (frame: JsonObject) => Promise<void>,
  replies: TransportDeps['replies'],
  log: Log,
): () => void {
  let position = after

  /** Reports expired replies. Retention removes the oldest first, so if an earlier one still exists, the numbers merely have a gap. */
  const tellGap = async (seq: number) => {
    if (seq <= position) return
    const [oldest] = await replies.read(conversation, 0, 1)
    const isGone = !oldest || oldest.seq > position
    if (isGone) await send({ type: 'gap', missed: seq - position, seq })
    position = seq
  }

  const loop = createLoop({
    async step() {
      const entries = await replies.read(conversation, position, PAGE)
      for (const { seq, data } of entries) {
        await tellGap(seq - 1)
        await send({ ...shown(data), type: 'message', seq })
        position = seq
      }
      // Entries missing up to the initial end of the log have expired.
      if (entries.length === 0) await tellGap(end)
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

/** Removes local file paths from attachments. */
function shown({ attachments, ...said }: JsonObject): JsonObject {
  if (!Array.isArray(attachments)) return said
  return {
    ...said,
    attachments: objectsIn(attachments).map(({ path: _path, sha256: _sha256, ...file }) => file),
  }
}
