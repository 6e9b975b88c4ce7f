/** Verbs of the command line, with words that other tools have for them. The first that fits counts. */
const SYNONYMS: readonly (readonly [verb: string, words: readonly string[]])[] = [
  ['list', ['ls', 'all', 'find', 'index', 'search']],
  ['show', ['get', 'view', 'describe', 'inspect', 'cat', 'info', 'details', 'open', 'status']],
  ['count', ['show', 'find', 'get', 'search', 'list']],
  ['drop', ['delete', 'rm', 'remove', 'del', 'discard', 'purge', 'clear']],
  ['delete', ['rm', 'remove', 'del', 'drop', 'purge', 'destroy']],
  ['erase', ['delete', 'rm', 'remove', 'forget', 'purge']],
  ['cancel', ['stop', 'kill', 'abort', 'end', 'terminate', 'delete', 'rm', 'remove']],
  ['pause', ['stop', 'disable', 'suspend', 'hold', 'halt', 'off', 'deactivate']],
  ['resume', ['start', 'enable', 'unpause', 'continue', 'on', 'unhold', 'activate']],
  ['retry', ['redrive', 'requeue', 'rerun', 'redeliver', 'replay', 'resend', 'again']],
  ['skip', ['drop', 'discard', 'forward', 'purge']],
  ['seek', ['move', 'reset', 'rewind', 'skip']],
  ['unread', ['waiting', 'pending', 'backlog', 'events', 'peek']],
  ['replay', ['redeliver', 'resend', 'redrive', 'retry']],
  ['run', ['trigger', 'exec', 'execute', 'fire', 'start', 'now']],
  ['send', ['post', 'reply', 'write', 'publish']],
  ['emit', ['publish', 'send', 'post', 'produce']],
  ['wait', ['consume', 'read', 'subscribe', 'tail', 'follow']],
  ['check', ['validate', 'verify', 'lint', 'test']],
  ['explain', ['match', 'why', 'test']],
  ['create', ['add', 'new', 'make', 'register']],
  ['new', ['add', 'create', 'make', 'init']],
  ['set', ['put', 'write', 'update', 'save']],
  ['ack', ['take', 'mine', 'accept', 'confirm']],
  ['release', ['unack', 'untake', 'free']],
  ['usage', ['runs', 'history', 'stats', 'cost']],
  ['traffic', ['stats', 'rates', 'metrics', 'usage']],
  ['reconnect', ['restart', 'reload', 'connect']],
]

/** The verb of `verbs` with the meaning of a word that other tools have; undefined without one. */
export function verbSynonym(word: string, verbs: readonly string[]): string | undefined {
  return SYNONYMS.find(([verb, words]) => words.includes(word) && verbs.includes(verb))?.[0]
}
