import { shownAuthor } from '../../core/author.ts'
import { compilePattern } from '../../core/pattern.ts'
import { finder } from '../../features/transcript/logs.ts'
import { type Entry, isAnswer, isDecision } from './entry.ts'

/** What `trivium history` shows. Times are ISO 8601. */
export type HistoryFilter = {
  /** A glob over the gateway. */
  channel?: string | undefined
  conversation?: string | undefined
  /** Part of the name or address of who wrote an entry; case is ignored. */
  sender?: string | undefined
  /** A text (case is ignored) or `/regex/` (RE2), in subjects, texts, and names of people. */
  grep?: string | undefined
  since?: string | undefined
  /** Exclusive. */
  before?: string | undefined
}

/** The messages of a conversation, as far as they are known: their ids and senders. */
export type KnownMessages = { ids: ReadonlySet<unknown>; senders: ReadonlySet<unknown> }

/**
 * Makes a test of entries. `known`: the messages that were found before. Their answers may have
 * another conversation: a mail to a person is not part of the conversation that it answers.
 */
export function createFilter(filter: HistoryFilter, known: KnownMessages): (entry: Entry) => boolean {
  const { conversation, since = '', before } = filter
  const channel = filter.channel === undefined ? undefined : compilePattern(filter.channel)
  const find = filter.grep === undefined ? undefined : finder(filter.grep)
  const sender = filter.sender?.toLowerCase()
  const isInConversation = ({ meta }: Entry) =>
    meta.conversation === conversation ||
    (meta.inReplyTo !== undefined && known.ids.has(meta.inReplyTo)) ||
    (String(meta.to).includes('@') && known.senders.has(meta.to))
  return (entry) => {
    const { time, meta, content } = entry
    if (time < since || (before !== undefined && time >= before)) return false
    if (channel && !channel.test(String(entry.channel ?? ''))) return false
    if (conversation !== undefined && !isInConversation(entry)) return false
    if (sender !== undefined && !authorsOf(entry).some((name) => name.toLowerCase().includes(sender)))
      return false
    const who = [...authorsOf(entry), meta.to ?? ''].join('\n')
    return find === undefined || find(`${meta.subject ?? ''}\n${content ?? ''}\n${who}`)
  }
}

/** The names of who wrote an entry. */
function authorsOf(entry: Entry): string[] {
  const { from, name, skill, by } = entry.meta
  const isOfAnswer = isAnswer(entry) || isDecision(entry)
  const names = isOfAnswer ? [skill, by === undefined ? undefined : shownAuthor(by)] : [from, name]
  return names.filter((each) => typeof each === 'string')
}
