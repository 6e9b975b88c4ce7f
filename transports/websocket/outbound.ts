import type { JsonObject } from '../../src/core/json.ts'
import type { Receipt, Reply, ReplyLog } from '../../src/core/transport.ts'

/**
 * Keeps a reply in the log of its conversation, once per key. Whoever holds the connection, on whichever
 * daemon, follows that log; with nobody there it waits for the client to come back.
 */
export async function sendToConversation(replies: ReplyLog, reply: Reply): Promise<Receipt> {
  const { key, text, subject, attachments, inReplyTo, data } = reply
  await replies.append(reply.to ?? reply.conversation, {
    key,
    data: {
      text,
      ...(inReplyTo === undefined ? {} : { inReplyTo }),
      ...(subject === undefined ? {} : { subject }),
      ...(attachments?.length
        ? { attachments: attachments.map(({ name, type, size }) => ({ name, type, size })) }
        : {}),
      ...(data ? { data } : {}),
    },
  })
  return { id: key }
}

/** One reader of a reply log. */
export type Follower = {
  /** Reads on, now or as soon as `mayWrite` allows it. */
  wake(): void
  stop(): void
}

export type FollowerOptions = {
  replies: ReplyLog
  conversation: string
  /** Follows from the reply after this one. */
  after: number
  /** False while the reader cannot keep up; `wake` is called when it can again. */
  mayWrite(): boolean
  write(frame: JsonObject): void
  /** Called where the log cannot be read; nothing is lost, and `wake` tries again. */
  failed(error: unknown): void
}

const PAGE = 64

/**
 * Writes the replies of a conversation after a position, in order, each once, as they come. The log is the
 * truth: signals only say when to look, so one that is late, doubled or lost in a reconnect does no harm.
 */
export function followReplies(options: FollowerOptions): Follower {
  const { replies, conversation } = options
  let position = options.after
  let reading = false
  let again = false
  let stopped = false

  const wake = () => {
    if (reading) again = true
    else void read()
  }

  async function read() {
    reading = true
    try {
      do {
        again = false
        while (!stopped && options.mayWrite()) {
          const entries = await replies.read(conversation, position, PAGE)
          if (entries.length === 0) break
          for (const { seq, data } of entries) {
            if (stopped || !options.mayWrite()) break
            options.write({ ...data, type: 'message', seq })
            position = seq
          }
        }
      } while (again && !stopped && options.mayWrite())
    } catch (error) {
      options.failed(error)
    } finally {
      reading = false
    }
  }

  const unsubscribe = replies.onAppend(conversation, wake)
  wake()
  return {
    wake,
    stop() {
      stopped = true
      unsubscribe()
    },
  }
}
