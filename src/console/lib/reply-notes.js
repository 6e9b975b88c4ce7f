/** How replies, and mails to the sender, end. */
const ENDS = new Set(['sent', 'not sent', 'suppressed', 'dead', 'not delivered'])
const UNDELIVERED = new Set(['dead', 'not delivered'])

/** The note of the reply that ended last, by time: a mail is noted when its dead letter is dropped. */
export function lastReplyNote(history) {
  return history
    .filter(({ road, what }) => road === 'outbox' && ENDS.has(what))
    .toSorted((a, b) => a.at - b.at)
    .at(-1)
}

/** The last note of a reply, or of a mail to the sender, that was not delivered. */
export function undeliveredNote(history) {
  return history.findLast(({ road, what }) => road === 'outbox' && UNDELIVERED.has(what))
}

/** The id of the dead letter of such a note, and who dropped it (`droppedBy`), if somebody did. */
export function letterOfNote({ detail: { letter, key } }, history) {
  const id = letter ?? `outbox:${key}`
  const dropped = history.findLast(({ what, detail }) => what === 'dropped' && detail?.id === id)
  return { id, ...(dropped && { droppedBy: dropped.detail.by }) }
}

/** Whether a note is about an answer, and not about a request for an approval. */
export function isAnswerNote({ road, detail }) {
  return road === 'outbox' && detail?.key !== undefined && !detail.key.startsWith('approval:')
}
