/** What is kept in each place that an erasure searches. */
const PLACES: Readonly<Record<string, string>> = {
  messages: 'messages with their history',
  jobs: 'unfinished work, and results of finished work: dispatch, replies, pushes',
  'dead letters': 'messages and replies that failed',
  histories: 'lines about the person in the histories of other messages',
  events: 'replies, logs, notifications',
  transcript: 'the record of what was said, in messages.jsonl',
  activity: 'the log of events, in events.jsonl',
  records: 'approvals, planned messages, runs of models, digests; statistics stay without the name',
  'conversation notes': 'notes of colleagues in their conversations',
  calls: 'the log of calls with ctx.once, in pending_calls.jsonl',
  'search index': 'the index of the transcript; it is built again',
  files: 'files that were sent, or that skills saved',
  'shared state of skills': 'values that skills keep in the store',
  'state of skills': 'values that skills keep in the data directory',
  'state of skills in memory': 'values that skills keep in the memory of this daemon',
  'shared sessions': 'memories of models, in the store',
  sessions: 'memories of models, in the data directory',
  'sessions in memory': 'memories of models, in the memory of this daemon',
  assistant: 'notes, schedules and delegations of the assistant',
  'history of the assistant': 'earlier states of the assistant',
  'copy of the assistant': 'its notes, schedules and delegations, in the copy in this data directory',
  'history of the copy of the assistant': 'earlier states of this copy',
}

/** The contents of a place. */
export function meaningOfPlace(place: string): string | undefined {
  return Object.hasOwn(PLACES, place) ? PLACES[place] : undefined
}

/** What the kinds of records are whose names do not say it. */
const KINDS: Readonly<Record<string, string>> = {
  exports: 'each has a file, too; a new export leaves both out',
  'index entries': 'where open approvals and planned messages are found',
  'long jobs': 'of operators; only the name is removed',
  retries: 'their messages in jobs that retried dead letters',
  'events of replays': 'ids of withdrawn events, and of those left out',
  'stored attempts of pushes': 'requests to receivers, with the answers',
  'records of gateways': 'by which they know mails and chats again',
  'other records': 'small records of parts of Trivium that name them',
}

/** Explains a kind of records, if its name is not clear. */
export function meaningOfKind(kind: string): string | undefined {
  return Object.hasOwn(KINDS, kind) ? KINDS[kind] : undefined
}
