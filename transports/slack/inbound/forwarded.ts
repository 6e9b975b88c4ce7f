import { type JsonObject, objectAt, objectsAt, textAt } from '../../../src/core/json.ts'

/** Flags of attachments that show another message, forwarded or linked. */
const FLAGS = ['is_share', 'is_msg_unfurl', 'is_reply_unfurl', 'is_thread_root_unfurl'] as const

/** Whether an attachment shows another message. */
export function isForwarded(attachment: JsonObject): boolean {
  return FLAGS.some((flag) => attachment[flag] === true) || objectsAt(attachment, 'message_blocks').length > 0
}

/**
 * Formats a forwarded message as a quote below its author; empty without text. `text` has Slack's
 * markup.
 */
export function quoted(attachment: JsonObject, text: string): string {
  const author = textAt(attachment, 'author_name') ?? textAt(attachment, 'author_subname')
  const head = author ? `Forwarded message from ${author}:` : 'Forwarded message:'
  const lines = fencedOnLines(text).split('\n')
  return text === '' ? '' : [head, ...lines.map((line) => (line === '' ? '>' : `> ${line}`))].join('\n')
}

/** The files of a message, then those of messages forwarded in it, each once. */
export function filesIn(message: JsonObject): JsonObject[] {
  const forwarded = objectsAt(message, 'attachments').filter(isForwarded)
  const inBlocks = forwarded.flatMap((each) => objectsAt(each, 'message_blocks'))
  const sources = [message, ...forwarded, ...inBlocks.map((each) => objectAt(each, 'message'))]
  const seen = new Set<unknown>()
  return sources
    .flatMap((source) => objectsAt(source, 'files'))
    .filter((file) => {
      const id = file.id ?? file
      const isNew = !seen.has(id)
      seen.add(id)
      return isNew
    })
}

/** Puts code fences on their own lines, as Markdown requires. */
export function fencedOnLines(text: string): string {
  return text.replaceAll(/^```\n?((?:(?!```)[\s\S])*?)\n?```$/gm, '```\n$1\n```')
}
