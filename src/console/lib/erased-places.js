/** What is kept in each place that an erasure searches. */
export const PLACES = {
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

/** What the kinds of records are whose names do not say it. */
export const KINDS = {
  'results of finished work': 'of the dispatch of messages, replies and pushes',
  'index entries': 'where open approvals and planned messages are found',
  'long jobs': 'jobs of operators that name them; only the name is removed',
  retries: 'their messages in jobs that retried dead letters',
  'stored attempts of pushes': 'requests to receivers of events, with the answers',
  'records of gateways': 'by which gateways know mails and chats again',
  'other records': 'small records of parts of Trivium that name them',
}
